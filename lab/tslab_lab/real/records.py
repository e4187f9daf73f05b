"""Work: a Perl job builds and drops records: a language whose objects come from malloc as it is."""

from pathlib import Path

from tslab_lab.base import processes

PERL = "/usr/bin/perl"
JOB = Path(__file__).with_name("jobs") / "records.pl"


class Work:
    title, unit = "Perl records", "records/s"

    def __init__(self, quick):
        self.probe = [PERL, "-e", "1"]
        self._argv = [PERL, str(JOB), "2" if quick else "12"]

    def run(self, env, who):
        return processes.figures(self._argv, env | {"PERL_HASH_SEED": "0"}, who)

    @staticmethod
    def remark(runs):
        del runs
        return "Perl: 10,000 records a generation; a tenth lives on."
