"""What the mock answers to each first word: one script per word, and one table of them.

A script says and does the same every time. Nothing is run, read or written for
real: the commands, files and diffs are props.
"""

import re
from collections.abc import Callable
from itertools import cycle, islice
from typing import NamedTuple

from onetape.agents.mock import props, wire
from onetape.agents.mock.stage import Ask, Complain, Exit, Pause, Print, Say, Script, Stage, Use

WORDS = ("tape ", "wire ", "turn ", "item ", "part ", "event ", "store ", "agent ")
PER_SECOND = 20

_EXACTLY = re.compile(r"Reply with exactly the (?:single )?word (\w+)\.")


def script_for(stage: Stage, text: str) -> Script:
    """The answer to a message."""
    said = text.strip()
    if (exactly := _EXACTLY.fullmatch(said)) is not None:
        return stage.text(exactly[1])
    word = said.split(maxsplit=1)[0] if said else ""
    if word in SCRIPTS:
        return SCRIPTS[word].play(stage, said[len(word) + 1 :])
    return echo(stage, text)


# --- words ------------------------------------------------------------------


def help(stage: Stage, rest: str) -> Script:
    width = max(map(len, SCRIPTS))
    lines = "\n".join(f"{word:{width}}  {script.about}" for word, script in SCRIPTS.items())
    return (yield from stage.text(f"I answer by the first word of a message:\n\n```\n{lines}\n```\n\nAnything else is echoed."))


def demo(stage: Stage, rest: str) -> Script:
    yield from stage.text("Everything I can show without an answer from you.")
    for play in (reasoning, plan, markdown, tool, command, edit, subagent, image, status, unknown, stderr, usage):
        yield from play(stage, "")
    return (yield from stage.text("That was all. Try `permission`, `question`, `error`, `hang` and `crash` yourself."))


def echo(stage: Stage, rest: str) -> Script:
    return (yield from stage.text(rest or "(nothing to echo)"))


def markdown(stage: Stage, rest: str) -> Script:
    return (yield from stage.text(props.MARKDOWN))


def reasoning(stage: Stage, rest: str) -> Script:
    yield from stage.thought("First I weigh the question.\n\nThen I see that it has no weight.", "public")
    yield from stage.thought("", "private")  # what agents keep encrypted: it was thought, and cannot be read
    return (yield from stage.text("I thought about it."))


def slow(stage: Stage, rest: str) -> Script:
    block = stage.id("b")
    yield Say(wire.BlockStart(block))
    for word in islice(cycle(WORDS), _number(rest, 20)):
        yield Pause(1 / PER_SECOND)
        yield stage.delta(block, word)
    yield Say(wire.BlockEnd(block))
    return None


def big(stage: Stage, rest: str) -> Script:
    block = stage.id("b")
    yield Say(wire.BlockStart(block))
    for word in islice(cycle(WORDS), _number(rest, 1000)):
        yield stage.delta(block, word)
    yield Say(wire.BlockEnd(block))
    return None


def image(stage: Stage, rest: str) -> Script:
    picture = wire.Picture("image/png", props.PICTURE)
    yield from stage.text("A cassette:", images=(picture,))
    return (yield from stage.use(Use("screenshot", {"window": "main"}, "48 x 30 pixels", images=[picture])))


# --- tools ------------------------------------------------------------------


def tool(stage: Stage, rest: str) -> Script:
    message = stage.id("m")
    yield from stage.text("Let me look.", message=message)
    call = stage.id("c")
    yield Say(wire.ToolCall(call, "read", message=message))  # named before its input is whole
    yield Say(wire.ToolCall(call, "read", {"path": "hello.py"}, message=message))
    yield Say(wire.ToolRunning(call))
    yield Say(wire.ToolResult(call, props.HELLO, files=[wire.Change("hello.py", "read")]))
    yield from stage.use(Use("clock.now", {"zone": "UTC"}, "It is always noon here.\n"), message=message)
    return (yield from stage.text("It greets the world, at noon."))


def command(stage: Stage, rest: str) -> Script:
    message = stage.id("m")
    yield from stage.text("One command that works and one that does not.", message=message)
    yield from stage.use(_bash(stage, "ls", "hello.py\nnotes.txt\n"), message=message)
    failing = _bash(stage, "cat missing.txt", stderr="cat: missing.txt: No such file or directory\n", code=1)
    yield from stage.use(failing, message=message)
    return (yield from stage.text("There is no missing.txt."))


def edit(stage: Stage, rest: str) -> Script:
    message = stage.id("m")
    yield from stage.text("I write a file and then change it.", message=message)
    written = wire.Change("hello.py", "write", props.HELLO_WRITTEN)
    yield from stage.use(Use("write", {"path": "hello.py", "content": props.HELLO}, "5 lines written", files=[written]), message=message)
    patched = wire.Change("hello.py", "patch", props.HELLO_PATCHED)
    yield from stage.use(Use("edit", {"path": "hello.py", "edits": props.HELLO_EDITS}, "3 lines changed", files=[patched]), message=message)
    return (yield from stage.text("Now it greets by name."))


def subagent(stage: Stage, rest: str) -> Script:
    message, inner, call = stage.id("m"), stage.id("m"), stage.id("c")
    yield from stage.text("I hand this to a helper.", message=message)
    task = "Count the lines of hello.py."
    yield Say(wire.ToolCall(call, "task", {"prompt": task}, message=message))
    yield Say(wire.ToolRunning(call))
    yield Say(wire.Prompt(call, task))
    yield from stage.text("I count them.", message=inner, parent=call)
    yield from stage.use(_bash(stage, "wc -l hello.py", "5 hello.py\n"), message=inner, parent=call)
    yield from stage.text("Five.", parent=call)
    yield Say(wire.ToolResult(call, "Five lines."))
    return (yield from stage.text("The helper counted five lines."))


def _bash(stage: Stage, words: str, stdout: str = "", stderr: str = "", code: int = 0) -> Use:
    run = wire.Run(words, stage.settings.cwd, code, stdout, stderr, duration_ms=12)
    return Use("bash", {"command": words}, stdout + stderr, code == 0, run)


# --- asks -------------------------------------------------------------------


def permission(stage: Stage, rest: str) -> Script:
    """Two different tools, so that "always" to the first still leaves the second to ask."""
    ran = yield from stage.ask_and_use(_bash(stage, "rm -rf build", "removed build\n"), "It deletes files.")
    notes = wire.Change("notes.txt", "write", props.NOTES_WRITTEN)
    write = Use("write", {"path": "notes.txt", "content": "Permission was given.\n"}, "1 line written", files=[notes])
    wrote = yield from stage.ask_and_use(write, "It writes a file.")
    told = {True: "ran", False: "was refused"}
    return (yield from stage.text(f"The command {told[ran]}, the write {told[wrote]}."))


def question(stage: Stage, rest: str) -> Script:
    colour = wire.Question("colour", "Which colour?", "Colour", [wire.Choice("red", "like a rose"), wire.Choice("blue", "like the sea")])
    sizes = wire.Question("sizes", "Which sizes?", "Sizes", [wire.Choice("small"), wire.Choice("medium"), wire.Choice("large")], True)
    chosen = []
    for asked in (colour, sizes):
        answer = yield Ask(wire.AskQuestion(stage.id("q"), [asked]))
        answers = answer.answers if isinstance(answer, wire.AnswerQuestion) else None
        chosen.append("no answer" if answers is None else ", ".join(answers[0] if answers else []) or "nothing")
    return (yield from stage.text(f"You chose: {chosen[0]}; {chosen[1]}."))


# --- the rest ---------------------------------------------------------------


def plan(stage: Stage, rest: str) -> Script:
    steps = ("read the code", "change it", "test it")
    for done in range(len(steps) + 1):
        status = ["completed" if at < done else "in_progress" if at == done else "pending" for at in range(len(steps))]
        yield Say(wire.Plan([wire.PlanStep(text, status) for text, status in zip(steps, status, strict=True)]))  # type: ignore[arg-type]
    return (yield from stage.text("All as planned."))


def status(stage: Stage, rest: str) -> Script:
    yield Say(wire.Status("mcp", "clock: connected"))
    yield Say(wire.Status("hook", "before-turn: passed"))
    yield Say(wire.Status("progress", "2 of 3 files"))
    yield Say(wire.RateLimit("90% of this hour is used"))
    block = stage.id("b")
    yield Say(wire.BlockStart(block))
    yield stage.delta(block, "This answer breaks off in the mid")
    yield Say(wire.BlockEnd(block, ok=False))
    yield Say(wire.Retry(1, "the model is overloaded"))
    compaction = stage.id("k")
    yield Say(wire.CompactionStart(compaction))
    yield Say(wire.CompactionEnd(compaction, "The user wants to see every status."))
    now = stage.settings
    yield Say(wire.Status("notice", f"session {now.session}, permissions {now.permission_mode}"))
    variant = f" ({now.variant})" if now.variant else ""
    return (yield from stage.text(f"I am {now.model}{variant} in {now.mode} mode."))


def usage(stage: Stage, rest: str) -> Script:
    return (yield from stage.text("What this turn used comes with its end, as with every turn of mine."))


def unknown(stage: Stage, rest: str) -> Script:
    # Not of the wire on purpose: no such type exists in wire.py.
    yield Print('{"type":"hologram","scene":{"depth":3},"note":"a message of a type that nobody knows yet"}')
    return (yield from stage.text("I said something new."))


def unparsed(stage: Stage, rest: str) -> Script:
    yield Print("Warning: this line is not JSON {")
    return (yield from stage.text("I said something that is not JSON."))


def stderr(stage: Stage, rest: str) -> Script:
    yield Complain("mock: a line on stderr")
    return (yield from stage.text("I wrote a line to stderr."))


def error(stage: Stage, rest: str) -> Script:
    yield from stage.text("This will not end well.")
    yield Say(wire.Failed("the model refused to go on", "mock_failure", {"attempts": 3}))
    return "failed"


def hang(stage: Stage, rest: str) -> Script:
    block = stage.id("b")
    yield Say(wire.BlockStart(block))
    yield stage.delta(block, "I hang until you interrupt me")
    yield Pause(None)
    return None


def crash(stage: Stage, rest: str) -> Script:
    call, block = stage.id("c"), stage.id("b")
    yield Say(wire.ToolCall(call, "bash", {"command": "sleep 60"}, wire.Run("sleep 60", stage.settings.cwd)))
    yield Say(wire.ToolRunning(call))
    yield Say(wire.BlockStart(block))
    yield stage.delta(block, "Something is wr")
    yield Complain("mock: fatal: crashed as asked")
    yield Exit(1)
    return None


def end(stage: Stage, rest: str) -> Script:
    yield from stage.text("Goodbye.")
    return "goodbye"


def _number(rest: str, default: int) -> int:
    try:
        return max(0, int(rest.split()[0]))
    except (IndexError, ValueError):
        return default


class Entry(NamedTuple):
    about: str
    play: Callable[[Stage, str], Script]


SCRIPTS: dict[str, Entry] = {
    "help": Entry("this list", help),
    "demo": Entry("everything that needs no answer and breaks nothing", demo),
    "echo": Entry("echo TEXT: the text again", echo),
    "markdown": Entry("headings, lists, a table, code", markdown),
    "reasoning": Entry("thoughts, readable and not, then an answer", reasoning),
    "tool": Entry("a file read and an MCP tool", tool),
    "command": Entry("a command that works and one that fails", command),
    "edit": Entry("a file written and then patched, with diffs", edit),
    "subagent": Entry("a helper with a prompt, a command and an answer of its own", subagent),
    "image": Entry("an image in an answer and one from a tool", image),
    "plan": Entry("a list of three steps, done one by one", plan),
    "status": Entry("rate limit, retry, compaction and other states", status),
    "usage": Entry("tokens and cost", usage),
    "permission": Entry("asks to run a command and to write a file", permission),
    "question": Entry("asks two questions", question),
    "slow": Entry("slow N: N words, twenty a second", slow),
    "big": Entry("big N: N words as fast as possible", big),
    "hang": Entry("begins and waits for an interrupt", hang),
    "error": Entry("the turn fails", error),
    "unknown": Entry("a message of a type that nobody knows", unknown),
    "unparsed": Entry("a line that is not JSON", unparsed),
    "stderr": Entry("a line on stderr", stderr),
    "crash": Entry("the process dies in mid-turn", crash),
    "end": Entry("says goodbye and ends the session", end),
}
