import os
import signal
import threading
import time

import pytest

from freqlf.training.stopping import Alarm, catch_signals


def test_alarms():
    alarm = Alarm(minutes=0.05 / 60)
    assert not alarm.is_due()
    time.sleep(0.06)
    assert alarm.is_due()
    alarm.reset()
    assert not alarm.is_due()
    assert not Alarm(float("inf")).is_due()
    assert Alarm(0.0).is_due()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_remembered_and_the_second_has_its_usual_effect(kind):
    previous = signal.getsignal(kind)
    signal.signal(kind, signal.default_int_handler)
    try:
        with catch_signals() as received:
            os.kill(os.getpid(), kind)
            assert received == [kind]
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), kind)
        assert signal.getsignal(kind) is signal.default_int_handler
    finally:
        signal.signal(kind, previous)


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with catch_signals() as received:
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert received == []


def test_other_threads_can_train_too():
    seen = []

    def work():
        with catch_signals() as received:
            seen.append(list(received))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [[]]
