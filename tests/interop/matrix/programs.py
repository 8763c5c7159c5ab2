"""The programs of the contenders: what each library is called, and its command, to which the lines' arguments are added."""
import os

from .jars import JARS

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "contenders")
# A contender is one of many on a small machine.
JAVA = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]


def programs(build):
    """`build`: where CMake, contenders/build-curator and contenders/build-recipes have put what they made."""
    class_path = ":".join([f"{build}/tests/interop/classes", *JARS])
    return {
        "zklock": [f"{build}/tests/interop/interop_zklock"],
        "curator": [*JAVA, "-cp", class_path, "CuratorContender"],
        "kazoo": ["/usr/bin/python3", f"{HERE}/kazoo_contender.py"],
        "zkr_lock": [f"{build}/tests/interop/recipes/zkr_lock"],
        "write_lock": [f"{build}/tests/interop/recipes/write_lock"],
        "go_zookeeper": [f"{build}/tests/interop/recipes/go_zookeeper"],
    }
