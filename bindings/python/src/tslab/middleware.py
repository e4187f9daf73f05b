"""Marks each request of a web application as a unit of work. TSLAB_EPOCH_POLICY decides what that means; without it, and without
the drop-in, a request passes as it is.

    application = tslab.middleware.WSGI(application)
    app = tslab.middleware.ASGI(app)
"""

import functools

import tslab

__all__ = ["ASGI", "WSGI"]


class WSGI:
    """The call of the application is a unit of work. So is each step of a response that is made piece by piece: the server takes
    the pieces when it likes. Not for servers that run several requests on one thread at once (gevent, eventlet)."""

    def __init__(self, application, label="request"):
        self._application = application
        self._label = label

    def __call__(self, environ, start_response):
        with tslab.unit(self._label):
            response = self._application(environ, start_response)
        # What is whole already is handed on as it is: servers look at its length, or send a file in one piece.
        wrapper = environ.get("wsgi.file_wrapper")
        whole = (list, tuple, bytes, wrapper) if isinstance(wrapper, type) else (list, tuple, bytes)
        return response if isinstance(response, whole) else _Pieces(response, self._label)


class _Pieces:
    def __init__(self, response, label):
        self._response = response
        self._label = label
        self._next = None

    def __iter__(self):
        with tslab.unit(self._label):
            self._next = iter(self._response).__next__
        return self

    def __next__(self):
        with tslab.unit(self._label):
            return self._next()

    def close(self):
        close = getattr(self._response, "close", None)
        if close is not None:
            with tslab.unit(self._label):
                close()


class ASGI:
    """A request that waits lets others run on its thread, so what is marked is each of its steps from one wait to the next. Under
    the policy per-request, the steps of a request share an epoch, which is closed at its end. Under the others each step is a
    unit. Only requests of HTTP are marked: a connection of WebSocket lives as long as it likes."""

    def __init__(self, app, label="request"):
        self._app = app
        self._label = label
        self._policy = tslab.policy() if tslab.preloaded() else "never"

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or self._policy == "never":
            await self._app(scope, receive, send)
        elif self._policy == "per-request":
            epoch = tslab.Epoch(self._label)
            try:
                await _Steps(self._app(scope, receive, send), epoch.inside)
            finally:
                epoch.close()
        else:
            await _Steps(self._app(scope, receive, send), functools.partial(tslab.unit, self._label))


class _Steps:
    """Awaits a coroutine, with a context around each of its steps."""

    def __init__(self, coroutine, around):
        self._coroutine = coroutine
        self._around = around

    def __await__(self):
        step, value = self._coroutine.send, None
        while True:
            try:
                with self._around():
                    awaited = step(value)
            except StopIteration as done:
                return done.value
            try:
                step, value = self._coroutine.send, (yield awaited)
            except GeneratorExit:
                with self._around():
                    self._coroutine.close()
                raise
            except BaseException as error:  # cancelled, for instance: the coroutine decides what that means
                step, value = self._coroutine.throw, error
