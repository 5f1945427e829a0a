// `evener matmul`: products of two matrices on each device of a placement, checked and timed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "matmul/matmul.h"
#include "measure/peak_rate.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "options/measured_command.h"
#include "options/option.h"
#include "options/run_flags.h"
#include "placement/plan.h"
#include "record/record.h"

namespace evener::matmul {

struct ProductFlags : OptionGroup {
  ProductFlags() : OptionGroup("Product") {}

  Option<std::int64_t> size{*this, "N N", 10000, within(from_to(1, 1'000'000)),
                            "Rows and columns of each matrix (default: 10000)"};
  Option<std::string> on{*this, "--on PLACEMENT", "cpu",
                         suggesting({"cpu", "cpu/t1", "cuda:0", "opencl", "cpu+cuda:0"}),
                         "cpu (all cores), cpu/t1, cuda:0, opencl, cpu+cuda:0, ..."};
  Option<std::string> precision{*this, "--precision NAME", "fp32", one_of({"fp32", "bf16"}),
                                "fp32, or bf16 with sums in fp32"};
  Option<std::string> engine{
      *this, "--engine NAME", "auto", one_of({"auto", "torch", "native"}),
      "auto (torch, or native on OpenCL and where torch can't be used), torch, or native: our own kernels"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, "Of the matrices' values"};
};

struct RepeatFlags : OptionGroup {
  RepeatFlags() : OptionGroup("Measuring") {}

  Option<int> repeats{*this, "--repeats N", 10, within(from_to(1, 1'000'000)),
                      "Samples of the time, after a first product that doesn't count"};
  Option<double> seconds{*this, "--seconds SECONDS", 1, within(zero_or_more()), "Take more samples until so long"};
  Option<int> sample_interval_ms{*this, "--sample-interval MILLISECONDS", 500, rules().not_recorded(),
                                 "Between samples of CPU and memory"};
};

struct MatmulFlags {
  ProductFlags product;
  RepeatFlags repeats;
  OutputFlags output{"Folder for the record (default: none)"};

  OptionSet options() { return {&product, &repeats, &output}; }
};

/// One device's products.
struct DeviceProducts {
  placement::PlanStage stage;
  std::string name;  // of the device: "cuda:0"; a second one of the same name gets a number behind it
  std::string engine = {}, method = {};
  double flops = 0;  // of a product
  measure::PeakRate peak = {};
  MatmulResult result = {};
};

struct MatmulRun {
  record::Record record;
  std::vector<DeviceProducts> products;  // of each device, in the order of the placement
  std::filesystem::path folder;          // empty: none was asked for
};

/// Multiplies on one device after the other. `stop`: ends it in good order, as a signal does; null: signals alone.
/// Throws UsageError, Error and Interrupted.
MatmulRun matmul(const MatmulFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The options of the products on one device, and those of the run.
MatmulOptions matmul_options(const MatmulFlags& flags, const placement::PlanStage& stage);
measure::RunOptions run_options(const MatmulFlags& flags);

/// Adds the figures of one device. With `several` devices the names of figures end with the device's name.
void fill_products(record::Record& record, const DeviceProducts& products, bool several);

/// The figures of one device as lines for people.
std::string products_text(const DeviceProducts& products);

/// `evener matmul` as a sweep runs it.
MeasuredCommand measured_matmul();

}  // namespace evener::matmul
