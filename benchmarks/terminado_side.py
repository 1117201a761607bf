"""The peer of the page's server: terminado, as its documentation starts it. Prints its port, then serves.

python benchmarks/terminado_side.py
"""

from __future__ import annotations

import asyncio

import terminado
import tornado.httpserver
import tornado.netutil
import tornado.web


async def main() -> None:
    manager = terminado.SingleTermManager(shell_command=["/bin/sh"])
    application = tornado.web.Application([(r"/ws", terminado.TermSocket, {"term_manager": manager})])
    [listener] = tornado.netutil.bind_sockets(0, "127.0.0.1")
    tornado.httpserver.HTTPServer(application).add_sockets([listener])
    print(listener.getsockname()[1], flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await manager.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
