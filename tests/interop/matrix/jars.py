"""Curator, from Debian's packages, in the order in which java searches them."""

NAMES = ("curator-recipes", "curator-framework", "curator-client", "zookeeper-jute", "zookeeper", "guava", "slf4j-api",
         "slf4j-nop")
JARS = [f"/usr/share/java/{name}.jar" for name in NAMES]
