#include "report/made_runs_helpers.h"

namespace evener::test {
namespace {

record::Record record_of_run(const CellRun& run) {
  record::Record record;
  record.model.name = "model";
  record.images_per_s.median = run.speed;
  record.images_per_s.reason = run.speed ? "" : "not measured";
  record.times.total = run.seconds;
  record.energy.joules = run.joules;
  record.energy.seconds = run.seconds;
  record.energy.kind = run.joules ? record::EnergyClass::kMeasured : record::EnergyClass::kAbsent;
  record::set_products(record.energy);
  record.data.images = 1000;
  record.sessions.resize(1);
  record.sessions[0].images = 1000;
  return record;
}

}  // namespace

report::Sweep sweep_of_runs(const std::vector<CellRun>& made, const record::SweepRecord& record,
                            const std::function<void(const CellRun&, record::Record&)>& change) {
  record::SweepJournal journal;
  for (const CellRun& one : made) {
    record::SweepRun& run = journal.runs.emplace_back();
    run.series = one.series;
    run.cell = one.cell;
    run.part = one.part;
    run.block = one.block;
    run.end = one.end;
    run.reason = one.reason;
    run.folder = one.cell + "/" + std::to_string(&one - made.data());
    run.began = "day-" + std::to_string(one.block);
    run.seconds = 7.5;
  }
  return report::sweep_of(record, journal, [&](const record::SweepRun& run) {
    const CellRun& one = made.at(std::stoul(run.folder.substr(run.folder.find('/') + 1)));
    record::Record filled = record_of_run(one);
    if (change) change(one, filled);
    return filled;
  });
}

}  // namespace evener::test
