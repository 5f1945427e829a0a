// evener matmul: multiplies two matrices on each device of a placement, checks the product, and tells how fast it was.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/matmul_record.h"
#include "cli/progress.h"
#include "job/train/hosts.h"
#include "measure/record_json.h"
#include "placement/machine.h"
#include "placement/placement.h"
#include "run/metered_run.h"
#include "run/placement_record.h"

namespace evener::cli {
namespace {

constexpr const char* kMatmulExamples = R"(Examples:
  evener matmul                             10000 x 10000 on all cores: 1.2 GB
  evener matmul 2000 --on cpu/t1 --precision bf16
  evener matmul 4000 --on cpu+cuda:0        one after the other, each told apart
  evener matmul 1000 --on opencl --repeats 50 --out runs/products)";

struct ProductFlags : job::OptionGroup {
  ProductFlags() : job::OptionGroup("Product") {}

  job::Option<std::int64_t> size{*this,
                                 {"N", "N", "Rows and columns of each matrix (default: 10000)"},
                                 10000,
                                 {.range = job::from_to(1, 1'000'000)}};
  job::Option<std::string> on{*this,
                              {"--on", "PLACEMENT", "cpu (all cores), cpu/t1, cuda:0, opencl, cpu+cuda:0, ..."},
                              "cpu",
                              {.suggestions = {"cpu", "cpu/t1", "cuda:0", "opencl", "cpu+cuda:0"}}};
  job::Option<std::string> precision{
      *this, {"--precision", "NAME", "fp32, or bf16 with sums in fp32"}, "fp32", {.one_of = {"fp32", "bf16"}}};
  job::Option<std::string> engine{
      *this,
      {"--engine", "NAME",
       "auto (torch, or native on OpenCL and where torch can't be used), torch, or native: our "
       "own kernels"},
      "auto",
      {.one_of = {"auto", "torch", "native"}}};
  job::Option<std::uint64_t> seed{*this, {"--seed", "N", "Of the matrices' values"}, 1};
};

struct RepeatFlags : job::OptionGroup {
  RepeatFlags() : job::OptionGroup("Measuring") {}

  job::Option<int> repeats{*this,
                           {"--repeats", "N", "Samples of the time, after a first product that doesn't count"},
                           10,
                           {.range = job::from_to(1, 1'000'000)}};
  job::Option<double> seconds{
      *this, {"--seconds", "SECONDS", "Take more samples until so long"}, 1, {.range = job::zero_or_more()}};
  job::Option<int> sample_interval_ms{
      *this, {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"}, 500, {.recorded = false}};
};

struct ProductOutputFlags : job::OptionGroup {
  ProductOutputFlags() : job::OptionGroup("Output") {}

  job::Option<std::string> out{
      *this, {"--out", "DIR", "Folder for the record (default: none)", {"--output"}}, "", {.recorded = false}};
  job::Option<bool> overwrite{*this, {"--overwrite", "", "Replace a run that is in --out"}, false, {.recorded = false}};
  job::Option<std::string> json{
      *this, {"--json", "FILE", "Write the record there too; - is stdout"}, "", {.recorded = false}};
  job::Option<bool> quiet{*this, {"--quiet", "", "No progress"}, false, {.recorded = false}};
};

struct MatmulFlags {
  ProductFlags product;
  RepeatFlags repeats;
  ProductOutputFlags output;

  job::OptionSet options() { return {&product, &repeats, &output}; }
};

/// One device after the other computes, so each CPU stage is alone on its cores.
placement::Plan matmul_plan(const std::string& text) {
  const placement::Placement asked = placement::parse(text);
  if (asked.automatic) {
    throw UsageError(
        "matmul tells each device apart, so --on auto has nothing to choose; name them, such as cpu+cuda:0");
  }
  placement::Plan plan =
      placement::make_plan(asked, placement::machine_for(asked), {.replicas = placement::ReplicasAs::kThreads});
  for (const auto& replica : plan.replicas) {
    if (replica.stages.size() > 1) {
      throw UsageError("'" + text + "' divides layers over devices, and a product has none; use +, as in cpu+cuda:0");
    }
    if (replica.stages.front().factor < 1) {
      throw UsageError("'" + text + "' emulates a slower device, whose speed matmul would not measure; leave @ out");
    }
  }
  return plan;
}

class Products {
 public:
  explicit Products(const MatmulFlags& flags)
      : flags_(flags),
        line_(*flags.output.quiet || *flags.output.json == "-"),
        plan_(matmul_plan(*flags.product.on)),
        run_({.kind = "matmul",
              .version = program_version(),
              .command = job::command_line(),
              .out = *flags.output.out,
              .overwrite = *flags.output.overwrite,
              .sample_interval_ms = *flags.repeats.sample_interval_ms,
              .tries_first = true,
              .json = *flags.output.json},
             line_) {}

  int run() {
    std::vector<DeviceProducts> all;
    const measure::Record record = run_.measure([&] {
      measure_all(all);
      return run_.record();
    });
    if (!write_json(*flags_.output.json, measure::to_json(record))) {
      fmt::print("{0} x {0}, {1}: {2} a product\n", *flags_.product.size, *flags_.product.precision,
                 si_text(all.front().flops, "FLOP"));
      for (const DeviceProducts& products : all) std::fputs(products_text(products).c_str(), stdout);
      if (!run_.folder().empty()) fmt::print("results: {}\n", run_.folder().string());
    }
    if (record.validity.valid != false) return 0;
    std::string rules;
    for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
    line_.note("INVALID: the times are not to be quoted (" + rules + "); record.json says why");
    return 3;
  }

 private:
  task::MatmulOptions options_of(const placement::PlanStage& stage) const {
    return {.stage = stage,
            .engine = *flags_.product.engine,
            .precision = parse_precision(*flags_.product.precision),
            .size = *flags_.product.size,
            .repeats = *flags_.repeats.repeats,
            .seconds = *flags_.repeats.seconds,
            .seed = *flags_.product.seed};
  }

  void measure_all(std::vector<DeviceProducts>& all) {
    std::map<std::string, int> seen;
    for (const auto& replica : plan_.replicas) {
      const placement::PlanStage& stage = replica.stages.front();
      DeviceProducts products{.stage = stage, .name = device_text(stage.device)};
      if (const int number = ++seen[products.name]; number > 1) products.name += "_" + std::to_string(number);
      const double begin_s = run_.session_s();
      task::MatmulJob job(options_of(stage));
      products.engine = job.engine();
      products.method = job.method();
      products.flops = job.flops();
      products.peak = job::peak_rate(stage.device, stage.threads, stage.cpus, options_of(stage).precision);
      init_s_ += run_.session_s() - begin_s;
      if (all.empty()) begin(products);
      line_.note(fmt::format("{}: {}, {}", products.name, products.method, bytes_text(job.memory_bytes())));
      products.result = job.run([&](std::int64_t done, double seconds) { show(done, seconds); });
      line_.finish();
      fill_products(run_.record(), products, plan_.replicas.size() > 1);
      all.push_back(std::move(products));
    }
    run_.record().times.init = init_s_;
    run_.take_times(run_.record());
  }

  void begin(const DeviceProducts& first) {
    measure::Record& record = run_.record();
    nlohmann::json config = nlohmann::json::object();
    for (const job::OptionGroup* group : {static_cast<const job::OptionGroup*>(&flags_.product),
                                          static_cast<const job::OptionGroup*>(&flags_.repeats)}) {
      group->record(config);
    }
    record.config = measure::config_from_json(config);
    record.seeds = {{"seed", *flags_.product.seed}};
    record.model.name = fmt::format("{0} x {0}", *flags_.product.size);
    record.model.forward_flops = static_cast<std::int64_t>(first.flops);
    record.data.location = "random matrices";
    record.placement = run::placement_record(plan_);
    record.engine = first.engine;
    record.versions[first.engine] = module_status(first.engine).version;
    record.precision = *flags_.product.precision;
    record.fallbacks = plan_.fallbacks;
    for (const std::vector<std::string>* notes : {&plan_.warnings, &plan_.notes}) {
      for (const std::string& text : *notes) run_.note(text);
    }
    run_.start_sampling();
    run_.begin();
  }

  void show(std::int64_t done, double seconds) {
    if (!line_.redraws() || run_.session_s() - last_shown_s_ < 0.2) return;
    last_shown_s_ = run_.session_s();
    line_.show(fmt::format("{} in {}", counted(done, "product"), duration_text(seconds)));
  }

  const MatmulFlags& flags_;
  ProgressLine line_;
  const placement::Plan plan_;
  run::MeteredRun run_;
  double init_s_ = 0, last_shown_s_ = 0;
};

}  // namespace

Command matmul_command() {
  const auto flags = std::make_shared<MatmulFlags>();
  return {.name = "matmul",
          .summary = "Check and time a product of two matrices on each device",
          .options = flags->options(),
          .footer = kMatmulExamples,
          .run = [flags] { return Products(*flags).run(); }};
}

}  // namespace evener::cli
