// Energy of what a document publishes as times, from powers that somebody states: it is estimated. What the document
// says of energy and speed stands beside it, so that its figures are held against each other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sensors/assumed_power.h"
#include "record/energy.h"
#include "report/reference.h"
#include "report/table.h"

namespace evener::report {

/// What a placement ("cuda:0+cpu/t4", "2xcuda") computes on.
struct UsedDevices {
  bool cpu = false;
  std::size_t gpus = 0;
};
UsedDevices used_devices(std::string_view placement);

/// A cell of a reference file that has a time.
struct PublishedWay {
  std::string name;
  double seconds = 0;
  std::string metric;     // what that time is: "total_s"
  record::Energy energy;  // estimated; without joules where a power isn't known, and `reason` says which
};
/// The machine has as many GPUs as the way that uses most of them. Throws Error where no line is a time.
std::vector<PublishedWay> published_ways(const std::vector<ReferenceFigure>& reference,
                                         const measure::AssumedPower& power);

/// A published figure that also follows from the times and powers.
struct DerivedFigure {
  ReferenceFigure figure;
  double published = 0, derived = 0;  // in s, J, J s, or a plain ratio

  double deviation() const { return derived / published - 1; }
};
std::vector<DerivedFigure> derived_figures(const std::vector<ReferenceFigure>& reference,
                                           std::span<const PublishedWay> ways);

/// A row for each way, with products of energy and time against those of the first.
Table published_ways_table(std::span<const PublishedWay> ways);
Table derived_table(std::span<const DerivedFigure> figures);
/// How many are within 1 %, and which are not; "" for none.
std::string derived_sentence(std::span<const DerivedFigure> figures);

}  // namespace evener::report
