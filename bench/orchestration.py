"""One model and one language of recorded runs, start-up included.

The public evaluator is not installed here; its own cost on the same job, 6 to 9 CPU seconds and
193 MB, was measured on the machine that made the fixtures.
The ratio is against its lower figure. Without the fixtures, the bundled sample is scored.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.measuring import Usage, best_of, sized

PUBLIC_CPU_SECONDS, PUBLIC_MB = 6.0, 193
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
SAMPLES = ROOT / "src" / "callscore" / "demo" / "orchestration"
MODELS = ("perfect_prompt", "mutated", "failed", "hostile", "mixture")
RUNS = sized(3, 1)


def usage(outputs: Path, cards: Path, mode: str) -> Usage:
    command = [sys.executable, "-m", "callscore", "orchestration", "score", outputs]
    return best_of(RUNS, [*map(str, command), "--cards", str(cards), "--mode", mode])


def line(model: str, outputs: Path, cards: Path, mode: str) -> str:
    used = usage(outputs, cards, mode)
    return (
        f"{model:16} {mode:9} {used.cpu_seconds:8.2f} {used.peak_mb:8.0f}"
        f" {PUBLIC_CPU_SECONDS / used.cpu_seconds:12.1f}"
    )


def main() -> None:
    print(f"{'model':16} {'mode':9} {'CPU s':>8} {'peak MB':>8} {'public/ours':>12}")
    parity, cards = SHARED / "parity", SHARED / "orchestrationbench" / "EN" / "multiagent_cards"
    for mode in ("standard", "compat"):
        if not parity.is_dir() or sized(0, 1):
            outputs = SAMPLES / "outputs" / "sample-large" / "EN"
            print(line("sample-large", outputs, SAMPLES / "cards" / "EN", mode))
            continue
        for model in MODELS:
            print(line(model, parity / model / "outputs" / "EN", cards, mode), flush=True)


if __name__ == "__main__":
    main()
