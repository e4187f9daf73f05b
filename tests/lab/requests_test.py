"""What the tests of `tslab requests` share."""

from lab_test import LabTest


class RequestsTest(LabTest):
    def words(self, *options):
        little = ("--quick", "--requests", "200", "--rate", "1000")
        return ("requests", *little, "--figures", self.own / "figures", "--library", self.library, *options)

    def command(self, *options):
        return self.tslab(*self.words(*options))
