// evener sweep: runs a command with all combinations of options, and tells what came of it.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/terminal_text.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "report/table.h"
#include "sweep/figures/sweep.h"
#include "sweep/sweep_job.h"

namespace evener::sweeps {
namespace {

constexpr const char* kSweepExamples = R"(Examples:
  evener sweep train resnet34 --data synth:masks:2400 --size 64x48 --epochs 2 --on cpu/t1,cpu/t2,2xcpu/t1 --repeats 5
  evener sweep infer resnet18 random:500 --on cpu/t1,cpu/t2 --precision fp32,bf16 --batch 2^0..2^4 --until ci=2%
  evener sweep EVENER_SIMD=avx2,avx512 train mlp:784-256-10 --data synth:digits --repeats 10
  evener sweep experiments/threads.toml --dry-run
  evener sweep experiments/threads.toml
  evener sweep experiments/threads.toml --again failed
  evener report runs/threads
  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2)";

int tell_sweep(const SweepFlags& flags) {
  ProgressLine progress(*flags.quiet);
  if (*flags.dry_run) {
    fmt::print("{}", sweep_dry_run_text(flags, progress));
    return 0;
  }
  const SweepOutcome outcome = sweep(flags, progress);
  std::fputs(report::terminal_text(sweep_table(outcome.sweep)).c_str(), stdout);
  for (const std::string& sentence : sweep_conclusion(outcome.sweep)) fmt::print("{}\n", one_line(sentence));
  if (outcome.page) put_written(outcome.page->path, outcome.page->hint);
  return outcome.failed_cells() > 0 ? 1 : outcome.invalid_cells() > 0 ? 3 : 0;
}

}  // namespace

Command sweep_command(MeasuredCommands (*measured)()) {
  const auto flags = std::make_shared<SweepFlags>();
  return {.name = "sweep",
          .summary = "Run the same work in every way, repeatedly and in a fair order, as one table",
          .options = {flags.get()},
          .footer = kSweepExamples,
          .passes_words_on = true,
          .complete = [flags, measured](measure::Observer&) { complete(*flags, measured()); },
          .run = [flags] { return tell_sweep(*flags); }};
}

}  // namespace evener::sweeps
