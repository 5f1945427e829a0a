// evener matmul, demo, plan and sweep: how fast this machine is, and with which options.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/demo/demo_job.h"
#include "job/matmul/matmul_job.h"
#include "job/plan/plan_job.h"
#include "job/sweep/sweep_job.h"
#include "record/record_json.h"
#include "report/table.h"

namespace evener::cli {
namespace {

constexpr const char* kMatmulExamples = R"(Examples:
  evener matmul                             10000 x 10000 on all cores: 1.2 GB
  evener matmul 2000 --on cpu/t1 --precision bf16
  evener matmul 4000 --on cpu+cuda:0        one after the other, each told apart
  evener matmul 1000 --on opencl --repeats 50 --out runs/products)";

int tell_matmul(const job::MatmulFlags& flags) {
  ProgressLine progress(*flags.output.quiet || *flags.output.json == "-");
  const job::MatmulRun run = job::matmul(flags, progress);
  if (!write_json(*flags.output.json, record::to_json(run.record))) {
    fmt::print("{0} x {0}, {1}: {2} a product\n", *flags.product.size, *flags.product.precision,
               si_text(run.products.front().flops, "FLOP"));
    for (const job::DeviceProducts& products : run.products) std::fputs(job::products_text(products).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results: {}\n", run.folder.string());
  }
  if (run.record.validity.valid != false) return 0;
  for (const auto& reason : run.record.validity.reasons) {
    progress.note("INVALID, not to be quoted: " + reason.what + "; " + reason.advice);
  }
  return 3;
}

constexpr const char* kPlanExamples = R"(Examples:
  evener plan mlp:784-256-10 --data mnist/ --batch 64
  evener plan resnet34 --data synth:masks --size 197x148 --batch 32 --precision bf16
  evener plan resnet18 --data photos/ --size 224x224 --on cpu/t4,2xcpu/t2,4xcpu/t1 --seconds 60
  evener plan resnet18 --data photos/ --size 224x224 --for energy --assume-power cpu=65W,idle=20W --precision auto
  evener plan resnet18 --data photos/ --size 224x224 --epochs 30 --deadline 90 --json plan.json
'evener train ... --on auto' does the same before it trains.)";

int tell_plan(const job::PlanFlags& flags) {
  const std::string& json_target = *flags.output.json;
  TrainProgress progress(0, *flags.output.quiet || json_target == "-");
  const job::PlanOutcome outcome = job::run_plan(flags, progress);
  nlohmann::ordered_json json = job::comparison_json(outcome.comparison);
  json["work"] = outcome.work;
  if (!write_json(json_target, json)) {
    fmt::print("{}\n\n{}", outcome.work, job::comparison_text(outcome.comparison));
  }
  job::require_within_limits(outcome.comparison);
  if (!outcome.comparison.best) {
    throw Error("none of the placements can be used here; the reasons stand with each of them");
  }
  return 0;
}

constexpr const char* kSweepExamples = R"(Examples:
  evener sweep train resnet34 --data synth:masks:2400 --size 64x48 --epochs 2 --on cpu/t1,cpu/t2,2xcpu/t1 --repeats 5
  evener sweep infer resnet18 random:500 --on cpu/t1,cpu/t2 --precision fp32,bf16 --batch 2^0..2^4 --until ci=2%
  evener sweep EVENER_SIMD=avx2,avx512 train mlp:784-256-10 --data synth:digits --repeats 10
  evener sweep experiments/threads.toml --dry-run
  evener sweep experiments/threads.toml
  evener sweep experiments/threads.toml --again failed
  evener report runs/threads
  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2)";

int tell_sweep(const job::SweepFlags& flags) {
  ProgressLine progress(*flags.quiet);
  if (*flags.dry_run) {
    fmt::print("{}", job::sweep_dry_run_text(flags, progress));
    return 0;
  }
  const job::SweepOutcome outcome = job::sweep(flags, progress);
  std::fputs(report::terminal_text(report::sweep_table(outcome.sweep)).c_str(), stdout);
  for (const std::string& sentence : report::sweep_conclusion(outcome.sweep)) fmt::print("{}\n", one_line(sentence));
  if (outcome.page) {
    fmt::print(stderr, "report: {}\n", std::filesystem::absolute(outcome.page->path).lexically_normal().string());
    if (!outcome.page->hint.empty()) fmt::print(stderr, "warning: {}\n", outcome.page->hint);
  }
  return outcome.failed_cells() > 0 ? 1 : outcome.invalid_cells() > 0 ? 3 : 0;
}

}  // namespace

Command matmul_command() {
  const auto flags = std::make_shared<job::MatmulFlags>();
  return {.name = "matmul",
          .summary = "Check and time a product of two matrices on each device",
          .options = flags->options(),
          .footer = kMatmulExamples,
          .run = [flags] { return tell_matmul(*flags); }};
}

Command demo_command() {
  const auto flags = std::make_shared<job::DemoFlags>();
  return {.name = "demo",
          .summary = "Train two networks on generated images in every way, infer in every precision, report",
          .options = {flags.get()},
          .footer = "Examples:\n  evener demo\n  evener demo --minutes 1 --out /tmp/demo",
          .run = [flags] {
            PromptLine progress(/*quiet=*/false);
            job::demo(*flags, progress);
            return 0;
          }};
}

Command plan_command() {
  const auto flags = std::make_shared<job::PlanFlags>();
  return {.name = "plan",
          .summary = "Measure briefly how fast and how frugal a training is on every placement",
          .options = flags->options(),
          .footer = kPlanExamples,
          .complete = [flags](job::Observer& line) { job::complete(*flags, &line); },
          .run = [flags] { return tell_plan(*flags); }};
}

Command sweep_command() {
  const auto flags = std::make_shared<job::SweepFlags>();
  return {.name = "sweep",
          .summary = "Run the same work in every way, repeatedly and in a fair order, as one table",
          .options = {flags.get()},
          .footer = kSweepExamples,
          .passes_words_on = true,
          .complete = [flags](job::Observer&) { job::complete(*flags); },
          .run = [flags] { return tell_sweep(*flags); }};
}

}  // namespace evener::cli
