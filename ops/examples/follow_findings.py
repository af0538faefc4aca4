#!/usr/bin/env python3
"""Follows the findings of Eroica and handles each version of each finding once.

    follow_findings.py --bootstrap localhost:9092 --topic eroica.findings-json --group my-alerts --journal handled.jsonl

Needs python3-confluent-kafka (Debian) or confluent-kafka (PyPI). The topic eroica.findings (FlatBuffers) can be
followed as well: that needs python3-flatbuffers and the bindings, in a folder of PYTHONPATH
(flatc --python --gen-onefile -o FOLDER schemas/finding.fbs).

Here, to handle a finding is to write it into the journal; put a call of your pager in its place. The topic is at least
once: after a crash, of this program or of Eroica, a record may come again, with the same ce_id. So the journal is
written before the position is committed, and what stands in it is not handled again. Stops on SIGINT and SIGTERM.
"""

import argparse
import json
import os
import signal
import sys

import confluent_kafka


def from_json(value):
    return json.loads(value)


def from_flatbuffers(value):
    """The fields that this example shows, called as in the JSON."""
    import finding_generated as wire  # made by flatc

    finding = wire.Finding.GetRootAs(value, 0)
    names = {number: name for name, number in vars(wire.Severity).items() if not name.startswith("_")}
    return {
        "id": finding.Id().decode(),
        "job": finding.Job().decode(errors="replace"),
        "severity": names.get(finding.Severity(), "unknown"),
        "title": (finding.Title() or b"").decode(errors="replace"),
    }


READERS = {"application/json": from_json, "application/vnd.eroica.finding+flatbuffers": from_flatbuffers}


def event_of(message):
    """The record as a CloudEvent, None where it is none of Eroica's findings."""
    headers = {name: value.decode() for name, value in message.headers() or [] if name.startswith("ce_") or name == "content-type"}
    read = READERS.get(headers.get("content-type"))
    if read is None or not headers.get("ce_type", "").startswith("eroica.finding."):
        return None
    return {"ce_id": headers["ce_id"], "ce_type": headers["ce_type"], "finding": read(message.value())}


def printable(text):
    """Names in a finding are whatever somebody has called a function."""
    return "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in text)


class Journal:
    """What has been handled, a line each. A line that a crash has cut off is handled again."""

    def __init__(self, path):
        self.handled = set()
        self.file = open(path, "a+b")
        self.file.seek(0)
        end = 0
        for line in self.file:
            if not line.endswith(b"\n"):
                break
            self.handled.add(json.loads(line)["ce_id"])
            end += len(line)
        self.file.truncate(end)

    def add(self, event):
        self.file.write(json.dumps(event).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.handled.add(event["ce_id"])


def follow(consumer, journal, stopped):
    while not stopped:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():  # a broker that is away comes back; the client waits for it
            print("kafka: %s" % message.error().str(), file=sys.stderr)
            continue
        event = event_of(message)
        if event and event["ce_id"] not in journal.handled:
            finding = event["finding"]
            state = event["ce_type"].rsplit(".", 1)[-1]
            print(printable("%s %s job %s: %s" % (finding["severity"], state, finding["job"], finding["title"])), flush=True)
            journal.add(event)
        # Not waited for: should it be lost, the journal knows what was handled.
        consumer.commit(message=message, asynchronous=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT,...")
    parser.add_argument("--topic", default="eroica.findings-json")
    parser.add_argument("--group", required=True, help="members of one group share the topic's partitions")
    parser.add_argument("--journal", required=True, metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a property of librdkafka, such as security.protocol=SSL")
    arguments = parser.parse_args()
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    properties = dict(setting.split("=", 1) for setting in arguments.set)
    consumer = confluent_kafka.Consumer(
        {
            **properties,
            "bootstrap.servers": arguments.bootstrap,
            "group.id": arguments.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([arguments.topic])
    try:
        follow(consumer, Journal(arguments.journal), stopped)
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
