// Starts the dashboard: follows the address, and hands events of the node to what is shown.
import {onApiError} from "./api.js";
import {connection, keepConnected, onConnection, onFinding, onRecovery} from "./connection.js";
import {FindingsPage} from "./findings_page.js";
import {JobPage} from "./job_page.js";
import {JobsPage} from "./jobs_page.js";
import {NodePage} from "./node_page.js";
import {replace} from "./dom.js";
import {notFound} from "./page_states.js";
import {printable} from "./printable.js";
import {keepTimesFresh} from "./relative_time.js";
import {current} from "./route.js";
import {askForToken, buildShell} from "./shell.js";
import {startTheme} from "./theme.js";

const REFRESH_MS = 5000;
const MAKERS = {
  jobs: route => new JobsPage(route),
  findings: route => new FindingsPage(route),
  node: route => new NodePage(route),
  job: route => new JobPage(route),
};

startTheme();
const shell = buildShell(document.body);
let page = null;
let pageKey = "";
let asking = false;

function titled(route) {
  const what = {jobs: "Jobs", findings: "Findings", node: "Node", job: printable(route.job, 80)}[
    route.page
  ];
  document.title = what ? `${what} · Eroica` : "Eroica";
}

function show(byPerson) {
  if (asking) return;
  const route = current();
  const key = route.page === "job" ? `job ${route.job}` : route.page;
  titled(route);
  shell.mark(route.page);
  if (page && key === pageKey) {
    page.update(route);
    return;
  }
  page?.dispose();
  page = null;
  pageKey = key;
  if (route.page === "unknown") {
    replace(
      shell.main,
      notFound("There is no such page", "The address is not one of this dashboard's.", {
        href: "#/jobs",
        text: "All jobs",
      }),
    );
    return;
  }
  page = MAKERS[route.page](route);
  replace(shell.main, page.node);
  scrollTo(0, 0);
  if (byPerson) shell.main.querySelector("h1")?.focus({preventScroll: true});
}

function ask(reason) {
  if (asking) return;
  asking = true;
  page?.dispose();
  page = null;
  pageKey = "";
  document.title = "Token · Eroica";
  askForToken(shell.main, reason);
}

addEventListener("eroica-token", () => {
  asking = false;
  show(true);
});
addEventListener("hashchange", () => show(true));
onApiError(error => {
  if (error.status === 401) ask(error.message);
});
onConnection(status => {
  if (status.state === "no-token") ask(status.detail);
});
onRecovery(() => page?.refresh());
onFinding(finding => {
  page?.takeFinding(finding);
  if (finding.state === "opened") {
    shell.announce(`New ${finding.severity} finding: ${printable(finding.title, 300)}`);
  }
});

show(false);
keepTimesFresh();
keepConnected();
setInterval(() => {
  if (!document.hidden && connection().state === "live") page?.refresh();
}, REFRESH_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) page?.refresh();
});
