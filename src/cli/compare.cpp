// evener compare A B: faster, slower or undecided, and by how much.
#include "report/compare.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/files.h"
#include "base/terminal_text.h"
#include "cli/command.h"

namespace evener::cli {
namespace {

struct CompareFlags : job::OptionGroup {
  CompareFlags() : job::OptionGroup("Output") {}

  job::Option<std::string> a{
      *this,
      {"A", "WHAT", "What is compared with: the folder of a run or a sweep, or DIR:AXIS=VALUE,... for cells"},
      "",
      {.required = true}};
  job::Option<std::string> b{*this, {"B", "WHAT", "What is compared, said in the same way"}, "", {.required = true}};
  job::Option<std::string> json{*this, {"--json", "FILE", "Write it as JSON; - is stdout, instead of sentences"}};
};

int compare(const CompareFlags& flags) {
  const report::ComparisonOfTwo comparison = report::compare_two(*flags.a, *flags.b);
  const std::string json = report::comparison_json(comparison);
  if (*flags.json == "-") {
    std::fwrite(json.data(), 1, json.size(), stdout);
    return 0;
  }
  if (!flags.json->empty()) write_file_atomically(*flags.json, json);
  if (comparison.pairs.size() > 1) {
    std::fputs(report::terminal_text(report::comparison_table(comparison)).c_str(), stdout);
  }
  for (const std::string& sentence : report::comparison_sentences(comparison)) fmt::print("{}\n", one_line(sentence));
  if (comparison.pairs.size() <= 1) {
    for (const std::string& note : comparison.notes) fmt::print("note: {}\n", one_line(note));
  }
  return 0;
}

}  // namespace

Command compare_command() {
  const auto flags = std::make_shared<CompareFlags>();
  return {.name = "compare",
          .summary = "Compare two runs, sweeps or cells: faster, slower or undecided, by how much",
          .options = {flags.get()},
          .footer =
              "Examples:\n"
              "  evener compare runs/a runs/b\n"
              "  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2\n"
              "  evener compare runs/before runs/after\n"
              "  evener compare runs/before:batch=32 runs/after:batch=32 --json -",
          .run = [flags] { return compare(*flags); }};
}

}  // namespace evener::cli
