// A link to a rank's page in the window that is looked at.
import {el} from "./dom.js";
import {hrefOf} from "./route.js";
import {count} from "./units.js";

export function rankLink(route, rank) {
  const query = {window: route.query.window};
  return el(
    "a",
    {href: hrefOf({page: "job", job: route.job, tab: "rank", item: rank, query})},
    `rank ${count(rank)}`,
  );
}
