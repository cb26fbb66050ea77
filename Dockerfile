# hookline in an image, for CI and for trying it out:
#   docker build -t hookline .
#   docker run --rm -v "$PWD:/work" hookline check --strict --settings .llxprt/settings.json
#   docker run --rm -v "$PWD:/work" hookline test --settings .llxprt/settings.json
# (In a container nobody has trusted the project's hooks; naming the file means trusting it.)
# With the agent and the page: docker build --build-arg EXTRAS='[agent,ui]' -t hookline .
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM python:3.12-slim
ARG EXTRAS=""
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/hookline-*.whl)${EXTRAS}" && rm -r /dist \
    && useradd --create-home hookline
USER hookline
WORKDIR /work
ENTRYPOINT ["hookline"]
CMD ["--help"]
