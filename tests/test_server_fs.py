"""Files: what the routes do, and that nothing leads out of the directory, whatever is tried."""

import errno
import io
import os
import socket
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetape.errors import Forbidden, Refused
from onetape.server import fs
from onetape.server import jail as jails
from onetape.server.jail import Jail
from patience import PATIENCE
from serving import TOKEN, Served, served
from test_server import check_problem


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("root")) as running:
        yield running


@pytest.fixture
def root(server: Served) -> Path:
    return server.daemon.sessions.root


# --- the routes --------------------------------------------------------------------


def test_files_from_writing_to_deleting(server: Served, root: Path) -> None:
    written = server.http.put("/v1/fs/file", params={"path": "a/b/c.txt"}, content=b"hello")
    assert written.json() == {"path": str(root / "a/b/c.txt"), "bytesWritten": 5}
    for path in ("a/b/c.txt", "./a//b/c.txt", str(root / "a/b/c.txt")):
        read = server.http.get("/v1/fs/file", params={"path": path})
        assert read.content == b"hello" and read.headers["content-type"] == "application/octet-stream"
        assert read.headers["content-length"] == "5"
    stat = server.http.get("/v1/fs/stat", params={"path": "a/b/c.txt"}).json()
    assert stat["path"] == str(root / "a/b/c.txt") and stat["entryType"] == "file" and stat["size"] == 5 and stat["modified"].endswith("Z")
    assert server.http.post("/v1/fs/mkdir", params={"path": "a/d/e"}).json() == {"path": str(root / "a/d/e")}
    assert server.http.post("/v1/fs/mkdir", params={"path": "a/d/e"}).status_code == 200
    entries = server.http.get("/v1/fs/entries", params={"path": "a"}).json()
    assert [(entry["name"], entry["entryType"], entry["path"]) for entry in entries] == [
        ("b", "directory", str(root / "a/b")), ("d", "directory", str(root / "a/d")),
    ]  # fmt: skip
    moved = server.http.post("/v1/fs/move", json={"from": "a/b/c.txt", "to": "x/y.txt"})
    assert moved.json() == {"from": str(root / "a/b/c.txt"), "to": str(root / "x/y.txt")}
    server.http.put("/v1/fs/file", params={"path": "x/z.txt"}, content=b"other")
    check_problem(server.http.post("/v1/fs/move", json={"from": "x/y.txt", "to": "x/z.txt"}), "conflict")
    assert server.http.post("/v1/fs/move", json={"from": "x/y.txt", "to": "x/z.txt", "overwrite": True}).status_code == 200
    assert (root / "x/z.txt").read_bytes() == b"hello"
    check_problem(server.http.delete("/v1/fs/entry", params={"path": "x"}), "conflict")
    assert server.http.delete("/v1/fs/entry", params={"path": "x", "recursive": True}).json() == {"path": str(root / "x")}
    assert server.http.delete("/v1/fs/entry", params={"path": "a/d/e"}).status_code == 200
    assert not (root / "x").exists() and not (root / "a/d/e").exists()


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "名" * 85])
def test_names_as_long_as_the_system_lets_them_be(server: Served, root: Path, name: str) -> None:
    assert server.http.put("/v1/fs/file", params={"path": name}, content=b"x").status_code == 200
    assert (root / name).read_bytes() == b"x"


def test_a_move_over_something(server: Served, root: Path) -> None:
    def put(path: str, content: str) -> None:
        server.http.put("/v1/fs/file", params={"path": f"over/{path}"}, content=content)

    def move(source: str, target: str) -> int:
        told = {"from": f"over/{source}", "to": f"over/{target}", "overwrite": True}
        return server.http.post("/v1/fs/move", json=told).status_code

    put("full/old", "old"), put("new/new", "new"), put("file", "file")
    assert move("new", "full") == 200 and [path.name for path in (root / "over/full").iterdir()] == ["new"]
    assert move("full", "file") == 200 and (root / "over/file/new").read_text() == "new"
    put("again", "again")
    assert move("again", "file") == 200 and (root / "over/file").read_text() == "again"
    put("a/b/c", "c"), put("a/other", "other")
    assert move("a", "a/b/inside") == 400  # into itself
    assert move("a/b", "a") == 200 and (root / "over/a/c").read_text() == "c" and not (root / "over/a/other").exists()
    assert sorted(os.listdir(root / "over")) == ["a", "file"]  # nothing that was put aside is left


def test_the_directory_of_a_session(server: Served, tmp_path: Path) -> None:
    id = server.session(directory=str(tmp_path))
    for spelling in ("sessionId", "session_id"):
        server.http.put("/v1/fs/file", params={"path": f"{spelling}.txt", spelling: id}, content=b"")
        assert (tmp_path / f"{spelling}.txt").exists()
    listed = server.http.get("/v1/fs/entries", params={"sessionId": id}).json()
    assert [entry["name"] for entry in listed] == ["sessionId.txt", "session_id.txt"]
    check_problem(server.http.get("/v1/fs/entries", params={"sessionId": "nobody"}), "session_not_found")
    check_problem(server.http.get("/v1/fs/stat", params={"path": str(server.daemon.sessions.root), "sessionId": id}), "permission_denied")


@pytest.mark.parametrize(
    ("method", "route"),
    [
        ("GET", "file"), ("GET", "stat"), ("GET", "entries"), ("PUT", "file"), ("POST", "mkdir"), ("DELETE", "entry"),
        ("POST", "upload-batch"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "a/..", "/", "/etc/passwd", "out/x", "out", "round/x"])
def test_nothing_leads_out(server: Served, root: Path, tmp_path: Path, method: str, route: str, path: str) -> None:
    (tmp_path / "x").write_text("outside")
    for name, target in (("out", str(tmp_path)), ("round", os.path.relpath(tmp_path, root))):
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(target)
    content = archive(("x", b"new")) if route == "upload-batch" else b"new"
    answer = server.http.request(method, f"/v1/fs/{route}", params={"path": path, "recursive": True}, content=content)
    if (method, path) == ("DELETE", "out"):
        assert answer.status_code == 200  # the link itself is inside
    else:
        check_problem(answer, "permission_denied")
    assert (tmp_path / "x").read_text() == "outside" and list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_moves_do_not_lead_out_either(server: Served, root: Path, tmp_path: Path) -> None:
    (root / "mine").write_text("inside")
    for told in ({"from": "mine", "to": "../mine"}, {"from": "/etc/hostname", "to": "x"}, {"from": "mine", "to": str(tmp_path / "mine")}):
        check_problem(server.http.post("/v1/fs/move", json=told), "permission_denied")
    check_problem(server.http.post("/v1/fs/move", json={"from": ".", "to": "y"}), "permission_denied")
    check_problem(server.http.post("/v1/fs/move", json={"from": "none", "to": "new/y"}), "not_found")
    assert not (root / "new").exists()


def test_what_is_not_what_it_should_be(server: Served, root: Path) -> None:
    (root / "file").write_text("x")
    os.mkfifo(root / "pipe")
    for method, path, params, kind in (
        ("GET", "file", {"path": "none"}, "not_found"),
        ("GET", "stat", {"path": "none"}, "not_found"),
        ("GET", "entries", {"path": "none"}, "not_found"),
        ("DELETE", "entry", {"path": "none"}, "not_found"),
        ("GET", "file", {"path": "."}, "invalid_request"),
        ("GET", "file", {"path": "pipe"}, "invalid_request"),
        ("GET", "entries", {"path": "file"}, "invalid_request"),
        ("PUT", "file", {"path": "file/x"}, "invalid_request"),
        ("PUT", "file", {"path": "."}, "conflict"),
        ("POST", "mkdir", {"path": "file"}, "conflict"),
        ("DELETE", "entry", {"path": "."}, "permission_denied"),
        ("GET", "stat", {"path": "a\0b"}, "invalid_request"),
        ("GET", "stat", {"path": "x" * 300}, "invalid_request"),
        ("GET", "stat", {}, "invalid_request"),
    ):
        check_problem(server.http.request(method, f"/v1/fs/{path}", params=params), kind)


def test_large_files_are_streamed_and_larger_ones_refused(server: Served, root: Path) -> None:
    assert fs.MOST_BYTES >= 100 << 20
    chunk = os.urandom(1 << 20)

    def body(megabytes: int) -> Iterator[bytes]:
        for _ in range(megabytes):
            yield chunk

    answer = server.http.put("/v1/fs/file", params={"path": "large"}, content=body(110))
    assert answer.json()["bytesWritten"] == 110 << 20 and (root / "large").stat().st_size == 110 << 20
    (root / "large").unlink()
    told = f"PUT /v1/fs/file?path=larger HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}"
    told += f"\r\nContent-Length: {fs.MOST_BYTES + 1}"
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), PATIENCE) as connection:
        connection.sendall(f"{told}\r\n\r\nx".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")  # before the body is there
    assert not [name for name in os.listdir(root) if "larger" in name]


def test_a_file_that_is_replaced_keeps_its_mode(server: Served, root: Path) -> None:
    (root / "script").write_text("old")
    (root / "script").chmod(0o750)
    server.http.put("/v1/fs/file", params={"path": "script"}, content=b"new")
    assert (root / "script").read_text() == "new" and (root / "script").stat().st_mode & 0o777 == 0o750


# --- archives -----------------------------------------------------------------------


def archive(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return made.getvalue()


def entry(name: str, type: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, link
    return info


def upload(server: Served, content: bytes, path: str = "up") -> httpx.Response:
    return server.http.post("/v1/fs/upload-batch", params={"path": path}, content=content, headers={"Content-Type": "application/x-tar"})


def test_an_archive(server: Served, root: Path) -> None:
    answer = upload(server, archive(entry("./", tarfile.DIRTYPE), entry("./d", tarfile.DIRTYPE), ("./d/one", b"1"), ("two", b"2" * 5000)))
    assert answer.json() == {"paths": [str(root / "up/d/one"), str(root / "up/two")], "truncated": False}
    assert (root / "up/d/one").read_bytes() == b"1" and (root / "up/two").stat().st_size == 5000
    many = upload(server, archive(*((f"many/{number}", b"") for number in range(1030)))).json()
    assert len(many["paths"]) == 1024 and many["truncated"] is True and len(os.listdir(root / "up/many")) == 1030


def test_an_archive_of_directories_that_are_there(server: Served, root: Path) -> None:
    whole = archive(entry(".", tarfile.DIRTYPE), entry("./d", tarfile.DIRTYPE), ("./d/one", b"1"))  # as `tar c .` makes it
    for _ in range(2):
        assert upload(server, whole, "again").json()["paths"] == [str(root / "again/d/one")]
    check_problem(upload(server, archive(entry("d/one", tarfile.DIRTYPE)), "again"), "conflict")
    assert (root / "again/d/one").read_bytes() == b"1"


def test_what_an_upload_is_said_to_be(server: Served, root: Path) -> None:
    for told, status in (("application/json", 400), ("text/plain; charset=utf-8", 400), ("Application/X-Tar", 200), ("", 200)):
        answer = server.http.post(
            "/v1/fs/upload-batch", params={"path": "said"}, content=archive(("x", b"x")), headers={"Content-Type": told}
        )
        assert answer.status_code == status, told


@pytest.mark.parametrize(
    "bad",
    [
        ("/absolute", b"x"), ("../out", b"x"), ("a/../../out", b"x"), entry("link", tarfile.SYMTYPE, "/etc/passwd"),
        entry("link", tarfile.SYMTYPE, "good"), entry("hard", tarfile.LNKTYPE, "good"), entry("device", tarfile.CHRTYPE),
        entry("pipe", tarfile.FIFOTYPE), ("good/under", b"x"), entry("good", tarfile.DIRTYPE), ("", b"x"), ("deep/" + "n" * 256, b"x"),
    ],
    ids=str,
)  # fmt: skip
def test_one_bad_member_refuses_all(server: Served, root: Path, bad: tuple[str, bytes] | tarfile.TarInfo) -> None:
    check_problem(upload(server, archive(("good", b"x"), bad), "refused"), "invalid_request")
    assert not (root / "refused").exists()


def test_damaged_archives_are_refused_whole(server: Served, root: Path) -> None:
    whole = archive(("one", b"1" * 2000), ("two", b"2" * 2000))
    for content in (b"", b"not a tar", whole[:1000], whole[:3500], whole[:2600] + b"\1" * 600 + whole[3200:]):
        check_problem(upload(server, content, "damaged"), "invalid_request")
    assert not (root / "damaged").exists()


def test_an_archive_does_not_write_through_links(server: Served, root: Path, tmp_path: Path) -> None:
    (root / "through").mkdir()
    (root / "through/out").symlink_to(tmp_path)
    check_problem(upload(server, archive(("first", b"x"), ("out/x", b"x")), "through"), "permission_denied")
    assert not list(tmp_path.iterdir()) and not (root / "through/first").exists()


# --- the jail by itself ---------------------------------------------------------------


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inside: files, directories, and links that stay, lead out, go round and dangle. Outside: a secret."""
    top = tmp_path_factory.mktemp("jail")
    (top / "secret").write_text("secret")
    root = top / "root"
    (root / "d" / "e").mkdir(parents=True)
    (root / "f").write_text("inside")
    (root / "d" / "g").write_text("inside")
    links = {
        "in": "f", "up": "d/e/../../f", "abs": str(root / "d"), "d/back": "..", "out": "../secret", "absout": str(top / "secret"),
        "top": "..", "d/e/top": "../../..", "loop": "loop", "ping": "pong", "pong": "ping", "dangling": "../new",
        "sly": f"{root}/../secret", "proc": "/proc/self/root",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize("path", ["f", "in", "up", "abs/g", "d/back/f", "d/back/d/back/in", "abs/back/up"])
def test_links_that_stay_inside_work(tree: Path, path: str) -> None:
    file = Jail(tree).open(path)
    try:
        assert os.read(file, 100) == b"inside"
    finally:
        os.close(file)


@pytest.mark.parametrize(
    "path", ["out", "absout", "top/secret", "d/e/top/secret", "d/back/top/secret", "loop", "ping", "dangling", "sly", "proc/etc/passwd"]
)
def test_links_that_lead_out_do_not(tree: Path, path: str) -> None:
    jail = Jail(tree)
    before = sorted(os.listdir(tree.parent))
    for work in (jail.open, jail.stat, jail.check, lambda path: jail.create(path).__enter__()):
        with pytest.raises(Forbidden):
            work(path)
    assert sorted(os.listdir(tree.parent)) == before and (tree.parent / "secret").read_text() == "secret"


NAMES = st.sampled_from(
    ["", ".", "..", "...", "f", "d", "e", "g", "in", "up", "abs", "back", "out", "absout", "top", "loop", "sly", "proc", "secret", "root",
     "~", "\\..", "%2e%2e", "..%2f", "new", "\0"]
)  # fmt: skip


@given(st.lists(NAMES, min_size=1, max_size=8), st.booleans())
def test_no_path_leads_out(tree: Path, parts: list[str], absolute: bool) -> None:
    """Whatever can be read through the jail is a file of the tree."""
    try:
        file = Jail(tree).open(("/" if absolute else "") + "/".join(parts))
    except Refused:
        return
    try:
        assert os.read(file, 100) == b"inside"
    finally:
        os.close(file)


def test_a_link_that_is_put_there_meanwhile_is_refused(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at an entry and its opening somebody replaces it."""
    root = tmp_path / "race"
    (root / "d").mkdir(parents=True)
    (root / "d" / "secret").write_text("mine")
    looked = jails._Walk.link

    def look_and_lose(walk: jails._Walk, name: str) -> str | None:
        found = looked(walk, name)
        if name == "d":
            (root / "d").rename(root / "was")
            (root / "d").symlink_to(tree.parent)
        return found

    monkeypatch.setattr(jails._Walk, "link", look_and_lose)
    with pytest.raises(Refused):
        Jail(root).open("d/secret")


def test_no_directory_stays_open(tree: Path) -> None:
    jail = Jail(tree)
    before = len(os.listdir("/dev/fd"))
    for path in ("d/back/d/back/f", "abs/g", "d/e/top/secret", "ping", "none/none", "f/x"):
        for work in (jail.stat, jail.check, jail.entries):
            with suppress(Refused):
                work(path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_full_disk_is_not_the_clients_fault(tree: Path) -> None:
    with pytest.raises(OSError, match="No space") as raised, Jail(tree).create("new"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert raised.value.errno == errno.ENOSPC and not [name for name in os.listdir(tree) if "new" in name]


def test_links_are_listed_as_what_they_lead_to_inside(tree: Path) -> None:
    listed, of_nothing = ({entry.name: entry.entry_type for entry in fs._entries(Jail(tree), path)} for path in (".", ""))
    assert listed == of_nothing
    assert listed["abs"] == "directory" and listed["in"] == "file" and listed["top"] == "file" and listed["loop"] == "file"
