import socket

from dayzero.adapters.http_server import listen


def test_the_parts_of_an_answer_do_not_wait_for_each_other():
    with listen("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
