#include "cli/option_rows_helpers.h"

#include <utility>

namespace evener::test {

using nlohmann::json;

void give_all(const job::OptionSet& options, const Words& given) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;  // an option given twice has two words
  for (std::size_t i = 0; i + 1 < given.size(); i += 2) {
    const auto same = std::ranges::find(all, given[i], &std::pair<std::string, std::vector<std::string>>::first);
    if (same != all.end()) {
      same->second.push_back(given[i + 1]);
    } else {
      all.push_back({given[i], {given[i + 1]}});
    }
  }
  for (const auto& [name, words] : all) options.give(name, words);
  options.check();
}

json plan_json(const placement::Plan& plan) {
  json shares = json::array();
  for (const placement::PlanReplica& replica : plan.replicas) {
    shares.push_back(replica.share ? json(*replica.share) : json());
  }
  return {{"text", plan.text},
          {"replicas", plan.replicas.size()},
          {"processes", plan.processes.size()},
          {"shares", shares},
          {"precision", plan.precision}};
}

json data_json(const data::DataOptions& options) {
  json classes = json::array();
  for (const data::ClassFiles& one : options.classes) classes.push_back(one.name + " is " + one.pattern);
  return {{"location", options.location},
          {"width", options.width ? json(*options.width) : json()},
          {"height", options.height ? json(*options.height) : json()},
          {"channels", options.channels ? json(*options.channels) : json()},
          {"split", options.split},
          {"seed", options.seed},
          {"threads", options.threads},
          {"strict", options.strict},
          {"classes", classes},
          {"decode", static_cast<int>(options.decode)},
          {"crop", static_cast<int>(options.crop)}};
}

json around_json(const run::RunOptions& options) {
  const auto number = [](const std::optional<double>& value) { return value ? json(*value) : json(); };
  return {{"kind", options.kind},
          {"out", options.out.string()},
          {"resume", options.resume},
          {"overwrite", options.overwrite},
          {"sample_interval_ms", options.sample_interval_ms},
          {"trace", options.trace.string()},
          {"json", options.json.string()},
          {"hosts", options.hosts},
          {"meters", options.energy.meters},
          {"idle_s", options.energy.idle_s},
          {"assumed",
           {number(options.energy.assumed.cpu), number(options.energy.assumed.idle), number(options.energy.assumed.gpu),
            number(options.energy.assumed.gpu_idle)}}};
}

json what_a_job_is_handed(const std::string& command, const Words& given) {
  const bool trains = command == "train" || command == "plan" || command == "sweep" || command == "matmul";
  return trains ? handed_by_training(command, given) : handed_by_inference(command, given);
}

}  // namespace evener::test
