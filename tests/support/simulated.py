"""Workers and a clock for schedules, of the test's own; no time passes; and a model that kills."""

import os
import signal

from echelon import RoundedRegressor


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def drive(schedule, clock, jobs, seconds_of, collect=lambda task: None):
    """Run a schedule on imagined workers; tasks in the order of their starts."""
    started, running = [], []
    while True:
        while len(running) < jobs and (task := schedule.next()) is not None:
            started.append(task)
            seconds = seconds_of(task)
            limit = task.limit if task.limit is not None else float("inf")
            running.append((clock.now + min(seconds, limit), len(started), task, seconds))
        if not any(schedule.needs(task) for _, _, task, _ in running):
            return started
        running.sort(key=lambda entry: entry[:2])
        clock.now, _, task, seconds = running.pop(0)
        if task.limit is not None and seconds > task.limit:
            schedule.drop(task)
        else:
            schedule.finish(task, seconds)
            collect(task)


class Deadly(RoundedRegressor):
    """A model whose fit ends its process."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)
