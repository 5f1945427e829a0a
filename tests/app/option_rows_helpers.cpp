#include "app/option_rows_helpers.h"

#include <algorithm>
#include <utility>

#include "app/data/data_job.h"

namespace evener::test {

using nlohmann::json;

void give_all(const OptionSet& options, const Words& given) {
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

json around_json(const measure::RunOptions& options) {
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

namespace {

struct OptionTable {
  std::vector<CommandWords> commands;
  std::vector<OptionRow> rows;
};

/// Made by whoever comes first, as the files of rooms begin in any order.
OptionTable& table() {
  static OptionTable all;
  return all;
}

}  // namespace

bool add_to_option_table(const std::vector<CommandWords>& commands, const std::vector<std::vector<OptionRow>>& rows) {
  table().commands.insert(table().commands.end(), commands.begin(), commands.end());
  for (const auto& part : rows) table().rows.insert(table().rows.end(), part.begin(), part.end());
  return true;
}

const std::vector<OptionRow>& all_option_rows() {
  return table().rows;
}

CommandWords words_of(const std::string& command) {
  const auto found = std::ranges::find(table().commands, command, &CommandWords::command);
  return found == table().commands.end() ? CommandWords{.command = command} : *found;
}

// Rows of the commands that read and write data, files and reports.
namespace {

std::vector<OptionRow> about_data() {
  const char* two = "data info|data pack";
  const char* info = "data info";
  const char* pack = "data pack";
  const char* synth = "data synth";
  return {{info, {"DATA", "synth:masks:90"}, "/location", "synth:masks:90"},
          {pack, {"SOURCE", "synth:masks:90"}, "/location", "synth:masks:90"},
          {two, {"--class", "a=x/**", "--class", "b=y"}, "/classes", {"a is x/**", "b is y"}},
          {two, {"--size", "20x10"}, "/width", 20},
          {two, {"--size", "20x10"}, "/height", 10},
          {two, {"--channels", "3"}, "/channels", 3},
          {two, {"--split", "70/20/10"}, "/split", {70.0, 20.0, 10.0}},
          {two, {"--decode", "fast"}, "/decode", 1},
          {two, {"--crop", "letterbox"}, "/crop", 1},
          {two, {"--seed", "7"}, "/seed", 7},
          {two, {"--strict", "true"}, "/strict", true},
          {two, {"--threads", "3"}, "/threads", 3},
          {info, {"--copies", "c.csv"}, "test:DataCommand.ListsImagesThatAreInTwoParts"},
          {info, {"--json", "-"}, "/run/out", "~\"per_class\""},
          {pack, {"--out", "{}/p.safetensors"}, "/run/files", "~p.safetensors"},
          {pack, {"--out", "p.zip"}, "/error", "~has to end in .safetensors"},
          {pack, {"--format", "voc"}, "test:DataCommand.WritesAndDescribesShapesWithTheirBoxes"},
          {pack, {"--format", "yodo"}, "/error", "~yolo"},
          {pack, {"--overwrite", "true"}, "/run/exit", 0, {"--out", "{}/old.safetensors"}},
          {synth, {"KIND", "masks"}, "/location", "synth:masks"},
          {synth, {"--out", "{}/drawn"}, "/run/files", "~drawn/0"},
          {synth, {"--count", "30"}, "/location", "synth:digits:30"},
          {synth, {"--size", "20x10"}, "/width", 20},
          {synth, {"--size", "20x10"}, "/height", 10},
          {synth, {"--format", "yolo"}, "/run/files", "~out/labels", {"KIND", "shapes"}},
          {synth, {"--seed", "7"}, "/seed", 7},
          {synth, {"--threads", "3"}, "/threads", 3},
          {"data fetch", {"NAME", "mnits"}, "/run/err", "~mnist"},
          {"data fetch", {"--out", "there"}, "test:FetchCommand.AsksOnlyForWhatIsMissing"},
          {"data fetch", {"--list", "true"}, "/run/out", "~LICENCE"}};
}

std::vector<OptionRow> about_others() {
  const char* info = "info";
  const char* report = "report";
  const char* demo = "demo";
  return {{info, {"MODEL", "resnet18"}, "/run/out", "~resnet18"},
          {info, {"--size", "20x10"}, "/run/out", "~1x10x20", {"--channels", "1"}},
          {info, {"--channels", "1"}, "/run/out", "~1x32x32"},
          {info, {"--classes", "7"}, "/run/out", "~7 outputs"},
          {info, {"--batch", "7"}, "/run/out", "~activations of 7 images"},
          {info, {"--json", "-"}, "/run/out", "~\"parameters\""},
          {report, {"RUN_DIR", "{}/run"}, "/run/out", "~mlp:784-4-10"},
          {report, {"--html", "{}/page.html"}, "/run/files", "~page.html"},
          {report, {"--no-html", "true"}, "/run/err", ""},
          {report, {"--csv", "{}/r.csv"}, "/run/files", "~r.csv"},
          {report, {"--markdown", "true"}, "/run/out", "~| "},
          {report, {"--json", "{}/r.json"}, "/run/files", "~r.json"},
          {"completion", {"SHELL", "fish"}, "/run/out", "~complete -c evener"},
          {"doctor", {"--json", "-"}, "/run/out", "~\"can_train_on_cpu\""},
          {"doctor", {"--peaks", "true"}, "test:Doctor.MeasuresThePeaksWhereAsked"},
          {demo, {"--out", "there"}, "test:DemoCommand.SaysWhatIsInItsWay"},
          {demo, {"--minutes", "0.2"}, "test:DemoCommand.ShowsEveryKindOfWayOnOnePage"},
          {demo, {"--seed", "7"}, "test:DemoCommand.PassesAStopOnToTheRunUnderWay"}};
}

json handed_to_synth(const Words& given) {
  app::SynthFlags flags;
  give_all(flags.options(), given);
  return data_json(flags.data_options());
}

json handed_to_pack(const Words& given) {
  app::PackFlags flags;
  give_all(flags.options(), given);
  return data_json(flags.source.whole_data_options());
}

json handed_to_data_info(const Words& given) {
  app::DataInfoFlags flags;
  give_all(flags.options(), given);
  return data_json(flags.source.whole_data_options());
}

const bool kAppIsAdded = add_to_option_table(
    {{"data info", {"DATA", "synth:digits:20"}, {}, handed_to_data_info},
     {"data pack",
      {"SOURCE", "synth:digits:20", "--out", "there.safetensors"},
      {"--out", "{}/out.safetensors"},
      handed_to_pack},
     {"data synth", {"KIND", "digits", "--out", "there"}, {"--out", "{}/out", "--count", "20"}, handed_to_synth},
     {"info", {}, {"MODEL", "resnet20"}, nullptr},
     {"report", {}, {"RUN_DIR", "{}/other"}, nullptr},
     {"completion", {}, {"SHELL", "bash"}, nullptr}},
    {about_data(), about_others()});

}  // namespace

}  // namespace evener::test
