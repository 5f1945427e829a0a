// Decides which claims a sweep's results support, finds Pareto fronts, and cells that computed the same. Inside report/
// only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sweep/figures/sweep.h"

namespace evener::sweeps {

/// Fills in main_figure, the claims of all jobs and cells, and their number. Compares each two cells of a job, by the
/// main figure and by energy. All these comparisons are one family: whatever differs, the probability of any false
/// claim is at most 5 % (Holm), however a sentence picks among them. Nothing is claimed where objection_to() has an
/// objection, nor of energies of different classes or beside other programs.
void make_claims(Sweep& sweep);

/// Compares two cells by a figure of both: what is claimed, before its p-value is corrected; without p where
/// objection_to() has an objection. A median speed is claimed as far as the whole, all images over all seconds, points
/// the same way: p is the larger one of both, or 1. `base` stays absent.
struct ComparedCells {
  record::RunComparison comparison;
  CellClaim claim;
};
ComparedCells compare_cells(const SweepCellRuns& base, const SweepCellRuns& cell, const SweepFigure& of_base,
                            const SweepFigure& of_cell, std::size_t first_stage);
/// Sets the verdict by the corrected p-value, or the reason why it stays undecided.
void decide(CellClaim& claim);

/// For each cell whether it is on the Pareto front of two figures: no other cell is better in one figure beyond chance,
/// at 5 % for all pairs of cells and both figures, and at least as good in the other by its mean. So a front calls no
/// cell beaten by another that its row doesn't tell apart from it. Cells that lack a figure are not on the front.
std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second);

/// A sentence for each cell that computed exactly what an earlier one did: "on=cpu/t16 ran as on=cpu/t2: ...".
std::vector<std::string> alike_notes(const Sweep& sweep);

// What other programs did beside a sweep's runs, and which comparisons hold nevertheless. Inside report/ only.
//
// Other programs spoil a run's own times. The ratio of two runs of a block holds: their order was drawn by chance, so
// that load which comes, goes or grows is as likely beside one as beside the other, and widens the interval. A load
// that leans on one of the cells isn't chance. tests/sweep/sweep_together_test.cpp shows what is claimed under each.

/// Other programs' mean load beside these cells' runs, in percent of all CPUs. Absent if it stayed within the limits of
/// the rules (record/validity.h) in all runs.
std::optional<double> load_beside(const std::vector<const SweepCellRuns*>& cells);

/// Whether a comparison of these cells was made beside other programs.
BesideOthers beside_others(const SweepCellRuns& a, const SweepCellRuns& b);

/// Compares two cells by a figure of theirs (compare_figures()). Where other programs' load beside them differs much
/// within the blocks, the ratio is that at equal load: what the load does to a block's ratio is seen, and isn't noise.
/// Not so for cells of different numbers of threads, which a load slows differently, and with a stopping rule, which
/// looked at the spread with the load's part in it.
record::RunComparison compare_beside_load(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                                          const SweepFigure& of_baseline, const SweepFigure& of_candidate,
                                          std::size_t first_stage);

/// ", beside other programs", and what that leaves open; "" if kNo. For the end of a claim.
std::string beside_text(BesideOthers beside);
/// "Measured beside other programs (7 % of the CPUs): ...": what of it holds.
std::string busy_sentence(double percent, BesideOthers beside, bool at_equal);

/// Why nothing may be claimed of this comparison of two cells; "" = it may. Either a cell has runs whose rules spoil
/// comparisons, or other programs leaned on the slower one: took more beside it within the blocks, at a one-sided level
/// of 5 %. A faster cell of more threads may have pushed the others aside itself: that is its own doing, and no
/// objection.
std::string objection_to(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                         const record::RunComparison& comparison);

// The scaling of a sweep's cells with threads and with processes. Inside report/ only.

/// Finds cells that differ only in the number of threads of a single replica, or only in the number of replicas of one
/// thread, and computes the scaling of each such group with at least two numbers of workers. Leaves out cells with more
/// threads than CPUs, with a note in `sweep`.
std::vector<SweepScaling> scalings_of(Sweep& sweep);

/// Speedup, efficiency and Karp-Flatt serial fraction, with a row for each number of workers.
report::Table scaling_table(const Sweep& sweep);

/// A sentence with the fit of Amdahl's law.
std::string scaling_sentence(const SweepScaling& scaling);

}  // namespace evener::sweeps
