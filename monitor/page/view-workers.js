// Who works, which consumer group owns what and how far it is behind, and what the topics hold.

import { get } from "./api.js";
import { count, duration, h, morph, size, table } from "./dom.js";

export const title = "Workers";

const WORKERS = [{ name: "Worker" }, { name: "State" }, { name: "Partitions" }, { name: "Memory", number: true }, { name: "Lives for", number: true }, { name: "Figures" }];
const GROUPS = [{ name: "Group" }, { name: "State" }, { name: "Behind" }, { name: "Members" }];
const TOPICS = [{ name: "Topic" }, { name: "Records", number: true }, { name: "Partitions", number: true }, { name: "Kept" }, { name: "What it is" }];

function ranges(numbers) {
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

const figures = (counts) => h("details", {}, h("summary", {}, "Show"), h("dl", { class: "pairs" }, Object.entries(counts).map(([name, value]) => [h("dt", {}, name), h("dd", {}, count(value))])));

export function open(main) {
  const body = main.appendChild(h("div"));
  return async () => {
    const told = await get("workers");
    const now = Date.now();
    morph(body, [
      table("Workers", WORKERS, told.workers.map((each) => ({
        key: each.worker,
        cells: [each.worker,
          h("span", { class: `state ${each.state === "alive" ? (each.ready ? "running" : "idle") : "late"}` }, each.state === "alive" ? (each.ready ? "ready" : "not ready") : `${each.state}, silent ${duration(each.silent_s)}`),
          ranges(each.partitions) || "none", size(each.memory_bytes), duration((now - Date.parse(each.started_at)) / 1000),
          each.metrics_error ? `no metrics: ${each.metrics_error}` : figures(each.counts)],
      })), "No worker lives. Start one with odradek run STAGE."),
      table("Consumer groups", GROUPS, told.groups.map((each) => ({
        key: each.group,
        cells: [each.group, each.state === "dead" ? "no member yet" : each.state.replaceAll("_", " "), Object.entries(each.lag).map(([topic, lag]) => `${topic} ${count(lag)}`).join(", "),
          each.members.length ? h("ul", { class: "plain" }, each.members.map((member) => h("li", {}, `${member.client} at ${member.host}: `,
            Object.entries(member.partitions).map(([topic, owned]) => `${topic} ${ranges(owned)}`).join("; ") || "nothing yet"))) : "none"],
      })), "No group is known."),
      table("Topics", TOPICS, told.topics.map((each) => ({
        key: each.topic,
        cells: [each.topic, count(each.records), count(each.partitions), each.retention_hours ? `${count(each.retention_hours / 24)} days` : "by key", each.note],
      })), "No topic is known."),
    ]);
  };
}
