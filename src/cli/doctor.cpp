// evener doctor: devices, modules, sensors and placements: what works, what does not, why, and how to fix it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/command.h"
#include "cli/doctor_checks.h"
#include "cli/json_output.h"

namespace evener::cli {
namespace {

using nlohmann::json;

bool colour_wanted() {
  const char* terminal = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(refused && *refused) && !(terminal && std::string_view(terminal) == "dumb");
}

std::string mark_text(Mark mark, bool colour) {
  const std::string text = fmt::format("{:<7}", mark_name(mark));
  if (!colour) return text;
  const char* code = mark == Mark::kOk ? "32" : mark == Mark::kNote ? "33" : "31";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string as_text(const Diagnosis& diagnosis, bool colour) {
  std::size_t width = 0;
  for (const Section& section : diagnosis.sections) {
    for (const Finding& finding : section.findings) width = std::max(width, finding.name.size());
  }
  std::string text;
  for (const Section& section : diagnosis.sections) {
    text += section.title + "\n";
    for (const Finding& finding : section.findings) {
      text += fmt::format("  {}  {:<{}}  {}\n", mark_text(finding.mark, colour), finding.name, width, finding.text);
      if (!finding.remedy.empty()) text += fmt::format("  {:7}  {:<{}}  -> {}\n", "", "", width, finding.remedy);
    }
    text += "\n";
  }
  return text + diagnosis.conclusion + "\n";
}

json as_json(const Diagnosis& diagnosis) {
  json sections = json::array();
  for (const Section& section : diagnosis.sections) {
    json findings = json::array();
    for (const Finding& finding : section.findings) {
      findings.push_back({{"name", finding.name},
                          {"mark", mark_name(finding.mark)},
                          {"text", finding.text},
                          {"remedy", finding.remedy.empty() ? json() : json(finding.remedy)}});
    }
    sections.push_back({{"title", section.title}, {"findings", findings}});
  }
  return {{"schema", 1},
          {"kind", "doctor"},
          {"can_train_on_cpu", diagnosis.can_train_on_cpu},
          {"conclusion", diagnosis.conclusion},
          {"sections", sections}};
}

struct DoctorFlags : job::OptionGroup {
  DoctorFlags() : job::OptionGroup("Output") {}

  job::Option<std::string> json{*this, {"--json", "FILE", "Write the findings as JSON to a file; - is stdout"}};
  job::Option<bool> peaks{*this,
                          {"--peaks", "", "Measure the processor's peaks too: multiply-adds, reading memory (2 s)"}};
};

int doctor(const DoctorFlags& flags) {
  Diagnosis diagnosis = diagnose(placement::machine());
  if (*flags.peaks) diagnosis.sections.push_back(check_peaks());
  if (!write_json(*flags.json, as_json(diagnosis))) fmt::print("{}", as_text(diagnosis, colour_wanted()));
  return diagnosis.can_train_on_cpu ? 0 : 1;
}

}  // namespace

Command doctor_command() {
  const auto flags = std::make_shared<DoctorFlags>();
  return {.name = "doctor",
          .summary = "Devices, libraries, sensors: what works, what does not, why",
          .options = {flags.get()},
          .footer =
              "Exit code 0 if training on the CPU works, else 1.\n"
              "Examples:\n  evener doctor\n  evener doctor --json -",
          .run = [flags] { return doctor(*flags); }};
}

}  // namespace evener::cli
