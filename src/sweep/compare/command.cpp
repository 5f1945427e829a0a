// evener compare: whether one run, sweep or cell is faster than another.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/terminal_text.h"
#include "options/option.h"
#include "options/output.h"
#include "report/table.h"
#include "sweep/compare/compare.h"

namespace evener::sweeps {
namespace {

struct CompareFlags : OptionGroup {
  CompareFlags() : OptionGroup("Output") {}

  Option<std::string> a{*this, "A WHAT", rules().needed(),
                        "What is compared with: the folder of a run or a sweep, or DIR:AXIS=VALUE,... for cells"};
  Option<std::string> b{*this, "B WHAT", rules().needed(), "What is compared, said in the same way"};
  Option<std::string> json{*this, "--json FILE", "Write it as JSON; - is stdout, instead of sentences"};
};

int tell_compare(const CompareFlags& flags) {
  const ComparisonOfTwo comparison = compare_two(*flags.a, *flags.b);
  if (write_json_text(*flags.json, comparison_json(comparison))) return 0;
  if (comparison.pairs.size() > 1) {
    std::fputs(report::terminal_text(comparison_table(comparison)).c_str(), stdout);
  }
  for (const std::string& sentence : comparison_sentences(comparison)) fmt::print("{}\n", one_line(sentence));
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
          .run = [flags] { return tell_compare(*flags); }};
}

}  // namespace evener::sweeps
