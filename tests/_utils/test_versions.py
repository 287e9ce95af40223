from importlib.metadata import version

from echelon._utils.packages import package_version, package_versions


def test_versions_of_what_is_installed():
    assert package_version("numpy") == version("numpy")
    assert package_version("no-such-package") is None
    found = package_versions(["numpy", "no-such-package", "scipy"])
    assert found == {"numpy": version("numpy"), "scipy": version("scipy")}
