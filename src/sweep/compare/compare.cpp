#include "sweep/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "report/conclusion.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/run.h"
#include "sweep/figures/sweep_claims.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

using record::Verdict;

constexpr int kOtherBlocks = 1'000'000;  // offset that keeps another sweep's blocks distinct

/// One side of the comparison.
struct Side {
  std::string name;
  fs::path folder;
  std::map<std::string, std::string> values;  // given values of axes
  std::optional<Sweep> sweep;                 // absent: a single run
};

std::map<std::string, std::string> parse_values(const std::string& text, const std::string& all) {
  std::map<std::string, std::string> values;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(
          fmt::format("'{}': behind the colon stand values of axes, as in on=cpu/t1,batch=32", one_line(all)));
    }
    values[part.substr(0, equals)] = part.substr(equals + 1);
    begin = comma + 1;
  }
  return values;
}

Side side_of(const std::string& text) {
  Side side;
  side.name = text;
  std::error_code none;
  // A folder's name may contain colons, so the longest prefix that is a folder counts.
  for (std::size_t colon = text.size();;) {
    if (fs::is_directory(text.substr(0, colon), none)) {
      side.folder = text.substr(0, colon);
      if (colon < text.size()) side.values = parse_values(text.substr(colon + 1), text);
      return side;
    }
    if (colon == 0) break;
    colon = text.rfind(':', colon - 1);
    if (colon == std::string::npos) break;
  }
  throw UsageError(fmt::format("'{}' is no folder of a run or of a sweep", one_line(text.substr(0, text.find(':')))));
}

void check_values(const Side& side) {
  std::vector<std::string> names;
  for (const record::SweepAxis& axis : side.sweep->record.axes)
    names.insert(names.end(), axis.names.begin(), axis.names.end());
  for (const auto& [name, value] : side.values) {
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError(fmt::format("{}: {}", side.folder.string(), unknown_name_message("axis", name, names)));
    }
    std::vector<std::string> known;
    for (const SweepCellRuns& cell : side.sweep->cells) known.push_back(cell.cell.values.at(name));
    if (std::ranges::find(known, value) == known.end()) {
      std::ranges::sort(known);
      known.erase(std::unique(known.begin(), known.end()), known.end());
      throw UsageError(
          fmt::format("{}: {}", side.folder.string(), unknown_name_message("value of '" + name + "'", value, known)));
    }
  }
}

void load_side(Side& side) {
  if (is_sweep(side.folder)) {
    side.sweep = load_sweep(side.folder);
    check_values(side);
  } else if (!side.values.empty()) {
    throw UsageError(fmt::format("{} is the folder of a run, which has no cells; leave the colon and what follows out",
                                 side.folder.string()));
  }
}

/// The cells that have all given values.
std::vector<const SweepCellRuns*> cells_of_side(const Side& side) {
  std::vector<const SweepCellRuns*> cells;
  for (const SweepCellRuns& cell : side.sweep->cells) {
    const bool is_named = std::ranges::all_of(
        side.values, [&](const auto& value) { return cell.cell.values.at(value.first) == value.second; });
    if (is_named) cells.push_back(&cell);
  }
  return cells;
}

/// The cell's values on axes with several values that neither side has given: the key by which cells are paired.
std::string rest_of(const Side& side, const SweepCellRuns& cell, const Side& other) {
  std::string text;
  for (const record::SweepAxis& axis : side.sweep->record.axes) {
    for (const std::string& name : axis.names) {
      if (axis.steps.size() < 2 || side.values.contains(name) || other.values.contains(name)) continue;
      text += (text.empty() ? "" : ", ") + name + "=" + cell.cell.values.at(name);
    }
  }
  return text;
}

void note_machines(ComparisonOfTwo& result, const record::Record& a, const record::Record& b) {
  if (record::is_same_machine(a.machine, b.machine)) return;
  result.notes.push_back(fmt::format("they are of two machines: {}, and {}", report::machine_text(a.machine),
                                     report::machine_text(b.machine)));
}

/// The cell with the numbers of its blocks set apart from those of another sweep.
SweepCellRuns blocks_apart(const Side& a, const Side& b, SweepCellRuns cell) {
  std::error_code none;
  if (fs::equivalent(a.folder, b.folder, none)) return cell;
  for (SweepFigure& figure : cell.figures) {
    for (record::BlockValue& one : figure.values) one.block += kOtherBlocks;
  }
  for (record::BlockValue& one : cell.others_percent) one.block += kOtherBlocks;
  return cell;
}

void compare_pair(ComparisonOfTwo& result, const Side& a, const Side& b, const SweepCellRuns& of_a,
                  const SweepCellRuns& of_b, const std::string& rest) {
  const SweepCellRuns apart = blocks_apart(a, b, of_b);
  const SweepFigure* base = of_a.figure(a.sweep->main_figure);
  const SweepFigure* other = apart.figure(a.sweep->main_figure);
  if (base == nullptr || other == nullptr || base->values.empty() || other->values.empty()) {
    result.notes.push_back(
        fmt::format("{}: not compared, as one of the two has no run with figures", rest.empty() ? of_a.name : rest));
    return;
  }
  ComparedPair& pair = result.pairs.emplace_back();
  pair.cell = rest;
  pair.a = *base;
  pair.b = *other;
  const std::size_t stage = std::max(a.sweep->record.first_stage(), b.sweep->record.first_stage());
  const ComparedCells compared = compare_cells(of_a, apart, pair.a, pair.b, stage);
  pair.comparison = compared.comparison;
  pair.claim = compared.claim;
  if (const auto load = load_beside({&of_a, &of_b})) {
    result.notes.push_back(busy_sentence(*load, pair.claim.beside, pair.comparison.at_equal));
  }
  if (of_a.record && of_b.record && !report::same_job(*of_a.record, *of_b.record)) {
    result.notes.push_back(fmt::format("they don't do the same work: {}, and {}", report::job_text(*of_a.record),
                                       report::job_text(*of_b.record)));
  }
  if (of_a.record && of_b.record) note_machines(result, *of_a.record, *of_b.record);
}

void compare_sweeps(ComparisonOfTwo& result, const Side& a, const Side& b) {
  const auto cells_a = cells_of_side(a), cells_b = cells_of_side(b);
  for (const SweepCellRuns* of_a : cells_a) {
    const std::string rest = rest_of(a, *of_a, b);
    for (const SweepCellRuns* of_b : cells_b) {
      const bool is_alone = cells_a.size() == 1 && cells_b.size() == 1;
      if (is_alone || rest_of(b, *of_b, a) == rest) compare_pair(result, a, b, *of_a, *of_b, rest);
    }
  }
  if (result.pairs.empty() && result.notes.empty()) {
    throw UsageError(
        fmt::format("no cell of {} has the values of one of {}; name cells with DIR:AXIS=VALUE", a.name, b.name));
  }
}

void decide_pairs(ComparisonOfTwo& result) {
  std::vector<std::optional<double>> p;
  for (const ComparedPair& pair : result.pairs) p.push_back(pair.claim.p);
  const auto corrected = record::corrected_for_number(p);
  const auto claims = std::ranges::count_if(p, [](const auto& one) { return one.has_value(); });
  for (std::size_t n = 0; n < result.pairs.size(); ++n) {
    CellClaim& claim = result.pairs[n].claim;
    claim.p = corrected[n];
    decide(claim);
    if (claim.p && claim.verdict == Verdict::kUndecided && !claim.unseen) {
      claim.to_decide = record::runs_to_decide(result.pairs[n].comparison, static_cast<double>(claims));
    }
  }
}

/// Wraps a single run as a sweep of one cell, to compare it with a sweep's cells.
Sweep sweep_of_run(const fs::path& folder) {
  record::SweepRecord record;
  record.repeats = 1;
  record::SweepCell& cell = record.cells.emplace_back();
  cell.key = "run";
  record::SweepJournal journal;
  record::SweepRun& run = journal.runs.emplace_back();
  run.cell = "run";
  const record::Record read = record::read_record(folder);
  run.end = read.validity.valid == false ? record::RunEnd::kInvalid : record::RunEnd::kDone;
  return sweep_of(record, journal, [&](const record::SweepRun&) { return read; });
}

std::string decide_words(const CellClaim& claim) {
  if (!claim.p || claim.unseen) return "";  // more runs that are INVALID, unpaired or uneven wouldn't help
  if (!claim.to_decide) return "; no reasonable number of repeats would show such a difference";
  return fmt::format("; if they differ as much as it seems, about {} of each would show it",
                     counted(*claim.to_decide, "run"));
}

std::string pair_sentence(const ComparisonOfTwo& of, const ComparedPair& pair) {
  const record::RunComparison& comparison = pair.comparison;
  const std::string where = pair.cell.empty() ? "" : pair.cell + ": ";
  const std::string means =
      fmt::format("{} against {}{}", mean_text(pair.b, false), mean_text(pair.a, false), unit_behind(pair.b));
  std::string how_much = comparison.ratio ? report::number_text(*comparison.ratio) + "x" : "no ratio";
  if (comparison.interval) {
    how_much += fmt::format(", 95 % interval {} to {}", report::number_text(comparison.interval->low),
                            report::number_text(comparison.interval->high));
  }
  const std::string how =
      comparison.interval ? fmt::format("; by the ratio in {}", counted(comparison.pairs, "block")) : "";
  if (pair.claim.verdict == Verdict::kUndecided) {
    return fmt::format("{}undecided whether {} is faster or slower than {}: {} ({}{}); {}{}.", where, of.b, of.a,
                       how_much, means, how, pair.claim.reason, decide_words(pair.claim));
  }
  return fmt::format("{}{} is {} than {}: {} ({}{}){}.", where, of.b, verdict_word(pair.claim.verdict), of.a, how_much,
                     means, how, beside_text(pair.claim.beside));
}

}  // namespace

ComparisonOfTwo compare_two(const std::string& text_a, const std::string& text_b) {
  Side a = side_of(text_a), b = side_of(text_b);
  load_side(a);
  load_side(b);
  ComparisonOfTwo result;
  result.a = a.name;
  result.b = b.name;
  if (!a.sweep && !b.sweep) {
    const std::vector<report::Run> runs = report::load_runs({a.folder, b.folder});
    result.sentences = report::conclusion(runs);
    result.notes.emplace_back(
        "one run of each: how much runs differ among themselves isn't known, so that none is called faster; 'evener "
        "sweep' repeats them in turns");
    note_machines(result, runs.front().record, runs.back().record);
    return result;
  }
  if (!a.sweep) a.sweep = sweep_of_run(a.folder);
  if (!b.sweep) b.sweep = sweep_of_run(b.folder);
  compare_sweeps(result, a, b);
  decide_pairs(result);
  std::ranges::sort(result.notes);
  result.notes.erase(std::unique(result.notes.begin(), result.notes.end()), result.notes.end());
  return result;
}

std::vector<std::string> comparison_sentences(const ComparisonOfTwo& of) {
  std::vector<std::string> sentences = of.sentences;
  constexpr std::size_t kMostSentences = 6;
  if (of.pairs.size() <= kMostSentences) {
    for (const ComparedPair& pair : of.pairs) sentences.push_back(pair_sentence(of, pair));
  } else {
    const auto count = [&](Verdict verdict) {
      return std::ranges::count(of.pairs, verdict, [](const ComparedPair& pair) { return pair.claim.verdict; });
    };
    sentences.push_back(fmt::format(
        "Of {} cells {} is faster than {} in {}, slower in {}, and {} are undecided (corrected for their number).",
        of.pairs.size(), of.b, of.a, count(Verdict::kFaster), count(Verdict::kSlower), count(Verdict::kUndecided)));
  }
  return sentences;
}

report::Table comparison_table(const ComparisonOfTwo& of) {
  report::Table table;
  table.columns = {{"cell", false}, {of.a, true},       {of.b, true},
                   {"ratio", true}, {"verdict", false}, {"runs to decide", true}};
  for (const ComparedPair& pair : of.pairs) {
    const CellClaim& claim = pair.claim;
    table.rows.push_back({pair.cell.empty() ? "-" : pair.cell, mean_text(pair.a, true), mean_text(pair.b, true),
                          speedup_text(claim), verdict_text(claim.verdict, claim.beside),
                          claim.to_decide ? std::to_string(*claim.to_decide) : "-"});
  }
  table.notes = of.notes;
  return table;
}

std::string comparison_json(const ComparisonOfTwo& of) {
  using CompareJson = nlohmann::ordered_json;
  const auto number = [](const auto& value) { return value ? CompareJson(*value) : CompareJson(nullptr); };
  CompareJson pairs = CompareJson::array();
  for (const ComparedPair& pair : of.pairs) {
    const CellClaim& claim = pair.claim;
    pairs.push_back({{"cell", pair.cell.empty() ? CompareJson(nullptr) : CompareJson(pair.cell)},
                     {"figure", pair.a.metric.name},
                     {"a", number(pair.a.mean.mean)},
                     {"b", number(pair.b.mean.mean)},
                     {"ratio", number(claim.speedup)},
                     {"interval_95", report::ends_or_null(claim.interval)},
                     {"p_corrected", number(claim.p)},
                     {"blocks", pair.comparison.pairs},
                     {"verdict", verdict_word(claim.verdict)},
                     {"beside_other_programs", claim.beside != BesideOthers::kNo},
                     {"reason", claim.reason.empty() ? CompareJson(nullptr) : CompareJson(claim.reason)},
                     {"runs_to_decide", number(claim.to_decide)}});
  }
  const CompareJson json = {
      {"a", of.a}, {"b", of.b}, {"pairs", pairs}, {"sentences", comparison_sentences(of)}, {"notes", of.notes}};
  return json.dump(2, ' ', false, CompareJson::error_handler_t::replace) + "\n";
}

}  // namespace evener::sweeps
