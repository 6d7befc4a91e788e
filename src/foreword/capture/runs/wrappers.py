"""What a step of a command line is wrapped in: an environment, a container, a limit of time; taken off.

Each wrapper is known with those of its options that take a value, and how many words it takes for itself, so
that the next word is the command's own, and not one that merely stands somewhere behind. Whatever is not
known here is left, and then hides what it wraps.
"""

from __future__ import annotations

import re

_DOCKER = (
    "-v --volume -w --workdir -e --env --env-file -u --user --name --network --net -p --publish --entrypoint "
    "--mount --platform -m --memory --cpus -h --hostname --add-host -l --label --gpus --shm-size --ulimit "
    "--index --device --tmpfs --pull --cap-add --security-opt --volumes-from"
)
_BEFORE_RUN = r"(?: -\S+(?: (?!run )[^-\s]\S*)?)*?"
_WRAPPERS: tuple[tuple[str, str, int], ...] = (
    (r"do|then|else|if|while|until|!|time|command|exec|nohup|builtin|bundle exec|bunx|pnpx", "", 0),
    (r"sudo", "-u -g --user --group", 0),
    (r"env|cross-env", "-u -C --unset --chdir", 0),
    (r"timeout", "-k -s --kill-after --signal", 1),
    (r"nice", "-n", 0),
    (r"stdbuf", "-i -o -e", 0),
    (r"xvfb-run", "-s -n -e -f --server-args", 0),
    (r"dotenv(?: run)?|(?:doppler|op|infisical) run", "-f -e --env-file -p -c", 0),
    (
        rf"(?:uv|poetry|pipenv|pdm|hatch|rye){_BEFORE_RUN} run|uvx|uv tool run|pipx run",
        "--with --with-requirements --with-editable --from --spec --extra --group --only-group --no-group "
        "--python -p --env-file --directory --project --package --index --index-url -C -e --env",
        0,
    ),
    (r"(?:conda|mamba|micromamba) run", "-n --name -p --prefix --cwd", 0),
    (r"direnv exec", "", 1),
    (r"nix develop(?: \S+)*? (?:-c|--command)|devbox run", "", 0),
    (r"npx|(?:npm|pnpm|yarn|bun) (?:exec|dlx|x)", "-p --package -w --workspace --prefix -C --filter -F", 0),
    (r"coverage run", "--source --omit --include --rcfile --data-file --context --concurrency", 0),
    (rf"(?:docker|podman)(?: compose|-compose){_BEFORE_RUN} (?:run|exec)", _DOCKER, 1),
    (r"(?:docker|podman)(?: container)? (?:run|exec)", _DOCKER, 1),
    (r"kubectl(?: -n \S+)? exec", "-n --namespace -c --container --context --kubeconfig", 1),
)
_KNOWN = tuple(
    (re.compile(rf"(?:{head})(?= |$)"), frozenset(valued.split()), own) for head, valued, own in _WRAPPERS
)
_MODULE = re.compile(
    r"py(?:thon[\d.]*)?(?:\.exe)?(?: -[WX] [^-\s]\S*| -(?!m )\S+)* -m"
    r" (?=(?:pytest|unittest|nox|tox|mypy|coverage)(?: |$))"
    r"|(?:node(?: -\S+)*|php) (?=\S*(?:node_modules|\.yarn|vendor)/)"
)
_SET = re.compile(r"\w+=\S* ")
_FOLDER = re.compile(r"^[^\s=]*[/\\](?=[^\s/\\])")
_VERSION = re.compile(r"^([\w.-]+)@[\w.^~-]+(?=\s|$)")
_MOST_LAYERS = 12


def bare(step: str) -> str:
    """The step without what only says how or where something is run, and without its folder."""
    step = _FOLDER.sub("", step)
    for _ in range(_MOST_LAYERS):
        inner = _inner(step)
        if inner is None:
            break
        step = _VERSION.sub(r"\1", _FOLDER.sub("", inner))
    return step


def _inner(step: str) -> str | None:
    """What the outermost wrapper holds; None where there is none."""
    if found := _SET.match(step) or _MODULE.match(step):
        return step[found.end() :]
    for head, valued, own in _KNOWN:
        if found := head.match(step):
            return _after_options(step[found.end() :].split(), valued, own)
    return None


def _after_options(words: list[str], valued: frozenset[str], own: int) -> str:
    """The words behind a wrapper's options, their values and the words that are its own."""
    at = 0
    while at < len(words) and (own or words[at].startswith("-")):
        if not words[at].startswith("-"):
            own -= 1
        elif words[at] in valued:
            at += 1
        at += 1
        if not own and words[at - 1 : at] == ["--"]:
            break
    return " ".join(words[at:])
