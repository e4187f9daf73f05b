"""What the rounds of the request server are made of."""

import random

from tslab_lab.request_server import driver, outcomes, survivors
from tslab_lab.request_server.outcomes import OURS


class Jobs:
    """All that a round runs, in any order, each with a function that runs it and keeps the result. `load`, `scattered`:
    what the server and the scattered survivors are to do; None where they take no part."""

    def __init__(self, load, scattered, environments, columns):
        self.outcome = self.scattered = None
        self._jobs = []
        if load:
            self.outcome = outcomes.Outcome(columns)
            self._jobs += [self._server_job(load, column, environments[column.allocator]) for column in columns]
        if scattered:
            with_epochs = f"{OURS}, epochs"
            self.scattered = outcomes.ScatteredOutcome([with_epochs])
            self._jobs += [self._scattered_job(scattered, name, environments[name], False) for name in environments]
            if OURS in environments:
                self._jobs.append(self._scattered_job(scattered, with_epochs, environments[OURS], True))

    def __len__(self):
        return len(self._jobs)

    def shuffled(self):
        return random.sample(self._jobs, len(self._jobs))

    def _server_job(self, load, column, environment):
        def run(number, at):
            who = f"the server on {column.name}"
            result = driver.run_once(
                load, environment | column.environment, who, column.sessions, manual=column.policy == "manual"
            )
            self.outcome.runs[column.name].append(result | {"round": number, "at_seconds": at})

        return column.name, run

    def _scattered_job(self, scattered, name, environment, epochs):
        def run(number, at):
            result = survivors.run_once(scattered, environment, f"scattered survivors on {name}", epochs)
            self.scattered.add(name, result | {"round": number, "at_seconds": at})

        self.scattered.runs[name] = []  # the order of the table
        return f"scattered, {name}", run
