// From products of matrices to their record, and what is told of them.
#pragma once

#include <string>
#include <vector>

#include "job/peak_rate.h"
#include "placement/plan.h"
#include "record/record.h"
#include "task/matmul.h"

namespace evener::job {

/// One device's products.
struct DeviceProducts {
  placement::PlanStage stage;
  std::string name;  // of the device among the run's: "cuda:0"; a second one of the same name has its number behind it
  std::string engine = {}, method = {};
  double flops = 0;  // of a product
  PeakRate peak = {};
  task::MatmulResult result = {};
};

/// Adds its figures. Where there are `several` devices, their names have the device's behind them.
void fill_products(record::Record& record, const DeviceProducts& products, bool several);

/// The lines that people read.
std::string products_text(const DeviceProducts& products);

}  // namespace evener::job
