# Callscore in a container: mount a folder at /work; nothing is written elsewhere.
FROM python:3.12-slim AS build
COPY . /src
RUN pip install --no-cache-dir --prefix=/install "/src[excel,import,redact,sign,fast,postgres]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
RUN useradd --create-home --uid 10001 callscore && mkdir /work && chown callscore /work
USER callscore
WORKDIR /work
ENTRYPOINT ["callscore"]
CMD ["--help"]
