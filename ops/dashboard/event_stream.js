// Server-sent events out of a stream of bytes, as the HTML standard reads them. EventSource cannot
// send a token in a header.

const LONGEST_EVENT = 4 << 20;

// Takes text piece by piece, gives events {id, type, data}.
export class EventParser {
  #rest = "";
  #data = [];
  #size = 0;
  #type = "";
  #id = "";

  push(text) {
    const events = [];
    this.#rest += text;
    for (;;) {
      const match = /\r\n|\n|\r(?!$)/.exec(this.#rest);
      if (!match) break;
      const line = this.#rest.slice(0, match.index);
      this.#rest = this.#rest.slice(match.index + match[0].length);
      const event = this.#takeLine(line);
      if (event) events.push(event);
    }
    if (this.#rest.length > LONGEST_EVENT) throw new Error("an event of the stream is too long");
    return events;
  }

  #takeLine(line) {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") {
      this.#size += value.length;
      if (this.#size > LONGEST_EVENT) throw new Error("an event of the stream is too long");
      this.#data.push(value);
    } else if (field === "event") {
      this.#type = value;
    } else if (field === "id" && !value.includes("\0")) {
      this.#id = value;
    }
    return null;
  }

  #finish() {
    const event =
      this.#data.length === 0
        ? null
        : {id: this.#id, type: this.#type || "message", data: this.#data.join("\n")};
    this.#data = [];
    this.#size = 0;
    this.#type = "";
    return event;
  }
}

// onBytes is called whenever anything comes, comments too.
export async function readEvents(body, onEvent, onBytes) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    onBytes();
    for (const event of parser.push(value)) onEvent(event);
  }
}
