"""A small HTTP server like those that some agents are: `python fake_server.py PORT`, basic auth from the environment.

GET /event   server-sent events        POST /push     puts the body's text on that stream, byte for byte
GET /page    something that is no JSON  POST /echo     the body again           POST /nothing   204
POST /break  ends the stream            POST /exit     ends the server with that code, in mid-request
"""

import asyncio
import base64
import json
import os
import sys

LOGIN = os.environ.get("FAKE_LOGIN", "")
streams: list[asyncio.StreamWriter] = []


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
    body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"null")
    if headers.get("authorization") != "Basic " + base64.b64encode(LOGIN.encode()).decode():
        answer(writer, 401, "text/plain", b"")
    elif path == "/event":
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.write(b'data: {"type":"server.connected"}\n\n')
        streams.append(writer)
    elif path == "/exit":
        os._exit(body)
    else:
        answer(writer, *reply(method, path, body))


def reply(method: str, path: str, body: object) -> tuple[int, str, bytes]:
    match path:
        case "/push":
            for stream in streams:
                stream.write(str(body).encode())
        case "/break":
            for stream in streams:
                stream.close()
        case "/page":
            return 200, "text/html", b"<html>\n</html>"
        case "/nothing":
            return 204, "text/plain", b""
        case "/pretty":
            return 200, "application/json", b'{\n "a": 1\n}'
    return 200, "application/json", json.dumps({"method": method, "body": body}).encode()


def answer(writer: asyncio.StreamWriter, status: int, kind: str, content: bytes) -> None:
    writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n".encode())
    writer.write(content)
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    print(f"listening on http://127.0.0.1:{sys.argv[1]}", flush=True)
    print("a warning", file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
