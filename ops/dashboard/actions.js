// Control actions: acknowledge, mute, capture. What the node refuses is said in words.
import {path, post} from "./api.js";
import {el, replace} from "./dom.js";
import {name, printable, sentence} from "./printable.js";

const LONGEST_NOTE = 2000;

function refusal(error) {
  switch (error.status) {
    case 401:
      return "The node wants a token for this.";
    case 403:
      return (
        `Not allowed: ${printable(error.message, 300)}. ` +
        "Acting needs a token with the scope “control”."
      );
    case 409:
      return `It conflicts with what is there: ${printable(error.message, 300)}.`;
    case 0:
    case 503:
      return "The node does not answer just now. Nothing was done; try again.";
    default:
      return `The node refused: ${printable(error.message, 300)}.`;
  }
}

// act: fields to a promise; done: called after it went well.
function ask({title, about, fields, verb, act, done}) {
  const message = el("p", {class: "dialog-message", role: "alert"});
  const submit = el("button", {type: "submit", class: "primary"}, verb);
  const before = document.activeElement;
  const dialog = el(
    "dialog",
    {"aria-labelledby": "dialog-title"},
    el(
      "form",
      {
        on: {
          submit: async event => {
            event.preventDefault();
            submit.disabled = true;
            message.textContent = "";
            try {
              const answer = await act(new FormData(event.target));
              done(answer, dialog);
            } catch (error) {
              message.textContent = refusal(error);
            }
            submit.disabled = false;
          },
        },
      },
      el("h2", {id: "dialog-title"}, title),
      el("p", {class: "quiet"}, about),
      fields,
      message,
      el(
        "div",
        {class: "controls"},
        submit,
        el("button", {type: "button", on: {click: () => dialog.close()}}, "Cancel"),
      ),
    ),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
    else document.getElementById(before?.id ?? "")?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function noteField() {
  return el(
    "label",
    null,
    "Note: who looks after it, the ticket, what was tried",
    el("textarea", {
      name: "note",
      rows: "3",
      maxlength: String(LONGEST_NOTE),
    }),
  );
}

function close(refresh) {
  return (_, dialog) => {
    dialog.close();
    refresh();
  };
}

export function acknowledge(finding, refresh) {
  ask({
    title: "Acknowledge",
    about: sentence(finding.title, 300),
    fields: noteField(),
    verb: "Acknowledge",
    act: form => post(path("findings", finding.id, "acknowledge"), {note: form.get("note")}),
    done: close(refresh),
  });
}

const SPANS = [
  [60, "1 hour"],
  [480, "8 hours"],
  [1440, "1 day"],
  [10080, "1 week"],
];

export function muteDialog(finding, refresh) {
  const choice = el(
    "label",
    null,
    "For",
    el(
      "select",
      {name: "minutes"},
      SPANS.map(([minutes, text]) => el("option", {value: minutes}, text)),
    ),
  );
  ask({
    title: "Mute",
    about: "Alerts of this finding are held back for a while. It stays visible here.",
    fields: [choice, noteField()],
    verb: "Mute",
    done: close(refresh),
    act: form =>
      post(path("findings", finding.id, "mute"), {
        minutes: Number(form.get("minutes")),
        note: form.get("note"),
      }),
  });
}

export function unmute(finding, refresh) {
  ask({
    title: "Unmute",
    about: sentence(finding.title, 300),
    fields: noteField(),
    verb: "Unmute",
    act: form => post(path("findings", finding.id, "unmute"), {note: form.get("note")}),
    done: close(refresh),
  });
}

const LEVELS = [
  [2, "2: every event"],
  [1, "1: patterns"],
  [0, "0: marks and collectives"],
];

export function captureDialog(job) {
  const number = (label, key, otherwise) =>
    el(
      "label",
      null,
      label,
      el("input", {name: key, type: "number", min: "0", step: "1"}),
      el("span", {class: "quiet small"}, otherwise),
    );
  const level = el(
    "label",
    null,
    "Level",
    el(
      "select",
      {name: "level"},
      LEVELS.map(([value, text]) => el("option", {value}, text)),
    ),
  );
  ask({
    title: "Ask the job for more",
    about: [
      "The producers of ",
      name(job, {longest: 80}),
      " record the steps that you name in more detail.",
    ],
    fields: [
      level,
      el(
        "div",
        {class: "field-row"},
        number("First step", "first", "empty: from the next on"),
        number("Last step", "last", "empty: 32 steps"),
      ),
    ],
    verb: "Capture",
    act: form => {
      const body = {level: Number(form.get("level"))};
      if (form.get("first") !== "") body.first_step = Number(form.get("first"));
      if (form.get("last") !== "") body.last_step = Number(form.get("last"));
      return post(path("jobs", job, "capture"), body);
    },
    done: (answer, dialog) =>
      replace(
        dialog,
        el(
          "div",
          null,
          el("h2", {id: "dialog-title"}, "Asked"),
          el("p", null, sentence(answer.detail, 400)),
          el(
            "p",
            {class: "quiet small"},
            "Entry of the audit log: ",
            name(answer.audit_id, {mono: true}),
          ),
          el(
            "div",
            {class: "controls"},
            el(
              "button",
              {
                type: "button",
                class: "primary",
                autofocus: true,
                on: {click: () => dialog.close()},
              },
              "Close",
            ),
          ),
        ),
      ),
  });
}
