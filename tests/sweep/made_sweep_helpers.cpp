#include "sweep/made_sweep_helpers.h"

#include "support/sample_records_helpers.h"

namespace evener::test {
namespace {

record::Record record_of_run(const CellRun& run) {
  record::Record record;
  record.model.name = "model";
  record.images_per_s.median = run.speed;
  record.images_per_s.reason = run.speed ? "" : "not measured";
  record.times.total = run.seconds;
  record.energy.joules = record.energy.work_joules = run.joules;
  record.energy.seconds = run.seconds;
  record.energy.kind = run.joules ? record::EnergyClass::kMeasured : record::EnergyClass::kAbsent;
  record::set_products(record.energy);
  record.data.images = 1000;
  record.sessions.resize(1);
  record.sessions[0].images = 1000;
  return record;
}

record::SweepRun journal_line(const record::SweepRecord& record, const MadeRun& run, std::size_t number) {
  record::SweepRun line;
  line.series = run.series;
  line.cell = record.cells[run.cell].key;
  line.part = run.part;
  line.block = run.block;
  line.folder = "run-" + std::to_string(number);
  line.end = run.end;
  line.seconds = 10;
  line.figure = run.speed;
  return line;
}

}  // namespace

sweeps::Sweep sweep_of_runs(const std::vector<CellRun>& made, const record::SweepRecord& record,
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
  return sweeps::sweep_of(record, journal, [&](const record::SweepRun& run) {
    const CellRun& one = made.at(std::stoul(run.folder.substr(run.folder.find('/') + 1)));
    record::Record filled = record_of_run(one);
    if (change) change(one, filled);
    return filled;
  });
}

record::Record record_of(const MadeRun& run) {
  record::Record record = sample_record({.model = run.model, .placement = "cpu/t1", .images_per_s = run.speed});
  record.images_per_s.median = run.speed;
  record.energy = {};
  record.energy.joules = record.energy.work_joules = run.joules;
  if (run.joules) record.energy.kind = record::EnergyClass::kMeasured;
  return record;
}

sweeps::Sweep made_sweep(const record::SweepRecord& record, const std::vector<MadeRun>& runs) {
  record::SweepJournal journal;
  for (std::size_t n = 0; n < runs.size(); ++n) journal.runs.push_back(journal_line(record, runs[n], n));
  return sweeps::sweep_of(record, journal, [&](const record::SweepRun& run) {
    return record_of(runs[static_cast<std::size_t>(std::stoi(run.folder.substr(4)))]);
  });
}

void write_made_sweep(const std::filesystem::path& folder, const record::SweepRecord& record,
                      const std::vector<MadeRun>& runs) {
  std::filesystem::create_directories(folder);
  record::write_sweep(folder, record);
  record::JournalWriter journal(folder);
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const record::SweepRun line = journal_line(record, runs[n], n);
    std::filesystem::create_directories(folder / line.folder);
    record::write_record(folder / line.folder, record_of(runs[n]));
    journal.begin(line);
    journal.end(line);
  }
}

std::vector<MadeRun> runs_in_blocks(std::size_t cell, const std::vector<double>& speeds, int first_block) {
  std::vector<MadeRun> runs;
  for (const double speed : speeds) runs.push_back({.cell = cell, .block = first_block++, .speed = speed});
  return runs;
}

}  // namespace evener::test
