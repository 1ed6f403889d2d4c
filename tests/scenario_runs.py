"""The bundled scenarios as `data` of an eval file, and a stub model that answers them."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from stub_servers import Answer, Behaviour, Request, chat_completion

SAMPLES = Path(str(resources.files("callscore.demo")))
SCENARIOS = {
    "orchestration": {
        "scenarios": str(SAMPLES / "orchestration" / "scenarios" / "EN"),
        "cards": str(SAMPLES / "orchestration" / "cards" / "EN"),
    }
}
STEPS = 21
"""The number of steps that a model is asked for."""
PERFECT = {"name": "p", "provider": "simulated"}


def scenario_data(**settings: Any) -> dict[str, Any]:
    """The scenarios with more keys of `data.orchestration`."""
    return {"orchestration": {**SCENARIOS["orchestration"], **settings}}


def call_first_tool(request: Request) -> Behaviour:
    """Reply with a plan of one agent, or with a call of the first tool without arguments."""
    tools = request.json.get("tools")
    if not tools:
        plan = {"workflow_1": {"steps": [{"agent_id": "billing_agent", "status": "pending"}]}}
        return Answer(chat_completion(json.dumps(plan)))
    function = {"name": tools[0]["function"]["name"], "arguments": "{}"}
    call = {"id": "1", "type": "function", "function": function}
    return Answer(chat_completion(None, "tool_calls", tool_calls=[call]))
