"""Posts to `/embeddings`, with the same checks as every other request."""

from __future__ import annotations

from callscore.core.provider import AttemptFailed
from callscore.providers.http import Http
from callscore.providers.http_errors import failure, server_error
from callscore.providers.http_provider import Access


class EmbeddingServer:
    """Posts bodies to one `/embeddings` over the shared connections."""

    def __init__(self, access: Access, http: Http) -> None:
        self.host = access.endpoint.host
        self._access = access
        self._http = http
        http.join()

    async def post(self, body: bytes) -> bytes | AttemptFailed:
        """The body of the response, or why there is none."""
        headers = await self._access.authorise(body)
        if isinstance(headers, AttemptFailed):
            return headers
        answer = await self._http.post(self._access.endpoint, body, headers)
        if isinstance(answer, AttemptFailed):
            return answer
        if answer.status != 200:
            return failure(answer, server_error(answer.body), self.host, self._access.secrets)
        return answer.body

    async def close(self) -> None:
        """Close connections."""
        await self._http.leave()
