#include "task/faces/neighbour_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "base/random.h"
#include "engine/kernels/product_kernels.h"

namespace evener::task {
namespace {

constexpr std::size_t kLocks = 1 << 14;
constexpr std::size_t kHighestLevel = 12;

}  // namespace

/// Rows that a search has come by. Clearing it costs nothing but every some thousand times.
struct NeighbourGraph::Seen {
  std::vector<std::uint16_t> round_of;
  std::uint16_t round = 0;

  void begin(std::size_t rows) {
    if (round_of.size() != rows || ++round == 0) {
      round_of.assign(rows, 0);
      round = 1;
    }
  }
  /// Whether the row is new.
  bool add(Row row) {
    if (round_of[row] == round) return false;
    round_of[row] = round;
    return true;
  }
};

NeighbourGraph::NeighbourGraph(const Embeddings& embeddings, const GraphOptions& options,
                               const data::Progress& progress)
    : embeddings_(embeddings), coarse_(embeddings, options.threads), options_(options), locks_(kLocks) {
  const std::size_t all = embeddings.size();
  if (all == 0) return;
  // A share of 1 / links of the rows of a level is on the next one as well.
  const double levels_a_row = 1 / std::log(static_cast<double>(options.links));
  Random levels(options.seed, Purpose::kInit);
  std::size_t upper = 0;
  for (std::size_t row = 0; row < all; ++row) {
    const double level = -std::log(1 - levels.uniform()) * levels_a_row;
    top_level_.push_back(static_cast<std::uint8_t>(std::min(level, static_cast<double>(kHighestLevel))));
    upper_place_.push_back(static_cast<std::uint32_t>(upper));
    upper += top_level_.back() * (options.links + 1);
  }
  lowest_.assign(all * (2 * options.links + 1), 0);
  upper_.assign(upper, 0);
  entry_ = static_cast<Row>(std::ranges::max_element(top_level_) - top_level_.begin());
  // Rows that are alike often follow each other, which would grow a graph of islands.
  const std::vector<Row> order = permutation(static_cast<std::uint32_t>(all), Random(options.seed, Purpose::kOrder));
  const auto insert_at = [&](std::size_t i) {
    if (order[i] != entry_) insert(order[i]);
  };
  data::for_each_index(all, options.threads, insert_at, progress);
}

float NeighbourGraph::apart(Row a, Row b) const {
  return 1 - coarse_.cosine(a, b);
}

float NeighbourGraph::distance(Row a, Row b) const {
  const float cosine = engine::kernels::product_kernels().product(embeddings_[a].data(), embeddings_[b].data(),
                                                                  static_cast<std::int64_t>(embeddings_.dimensions));
  return std::sqrt(std::max(0.0F, 2 - 2 * cosine));
}

std::span<NeighbourGraph::Row> NeighbourGraph::room(Row row, std::size_t level) {
  const std::size_t most = options_.links;
  if (level == 0) return {lowest_.data() + row * (2 * most + 1), 2 * most + 1};
  return {upper_.data() + upper_place_[row] + (level - 1) * (most + 1), most + 1};
}

std::span<const NeighbourGraph::Row> NeighbourGraph::links(Row row, std::size_t level) const {
  const std::size_t most = options_.links;
  const Row* const at =
      level == 0 ? lowest_.data() + row * (2 * most + 1) : upper_.data() + upper_place_[row] + (level - 1) * (most + 1);
  return {at + 1, at[0]};
}

void NeighbourGraph::copy_links(Row row, std::size_t level, std::vector<Row>& to) const {
  const std::scoped_lock lock(locks_[row % kLocks]);
  const auto of = links(row, level);
  to.assign(of.begin(), of.end());
}

/// From a row to the one that no link of this level leads on from.
NeighbourGraph::Near NeighbourGraph::descend(Row from, Row to, std::size_t level) const {
  Near best{apart(from, to), from};
  std::vector<Row> next;
  for (bool nearer = true; nearer;) {
    nearer = false;
    copy_links(best.second, level, next);
    for (const Row row : next) {
      const Near one{apart(row, to), row};
      if (one >= best) continue;
      best = one;
      nearer = true;
    }
  }
  return best;
}

/// The `breadth` nearest rows that links lead to from `from`, nearest first.
std::vector<NeighbourGraph::Near> NeighbourGraph::search(Row row, std::vector<Near> from, std::size_t level,
                                                         std::size_t breadth) const {
  thread_local Seen seen;
  seen.begin(embeddings_.size());
  std::priority_queue<Near, std::vector<Near>, std::greater<>> to_follow;
  std::priority_queue<Near> found;  // the farthest on top
  for (const Near& one : from) {
    if (!seen.add(one.second)) continue;
    to_follow.push(one);
    found.push(one);
  }
  std::vector<Row> next;
  while (!to_follow.empty()) {
    const Near at = to_follow.top();
    if (found.size() >= breadth && at.first > found.top().first) break;
    to_follow.pop();
    copy_links(at.second, level, next);
    std::erase_if(next, [&](Row other) { return !seen.add(other); });
    for (const Row other : next) coarse_.fetch(other);
    for (const Row other : next) {
      const Near one{apart(other, row), other};
      if (found.size() >= breadth && one >= found.top()) continue;
      to_follow.push(one);
      found.push(one);
      if (found.size() > breadth) found.pop();
    }
  }
  std::vector<Near> nearest(found.size());
  for (std::size_t i = nearest.size(); i-- > 0; found.pop()) nearest[i] = found.top();
  return nearest;
}

/// Of rows, nearest first, those that are nearer to the one they are for than to any that was taken before: links into
/// all directions, so that no crowd is an island.
std::vector<NeighbourGraph::Near> NeighbourGraph::in_different_directions(const std::vector<Near>& near,
                                                                          std::size_t most) const {
  std::vector<Near> taken;
  for (const Near& one : near) {
    if (taken.size() == most) break;
    const bool is_new =
        std::ranges::all_of(taken, [&](const Near& other) { return apart(one.second, other.second) >= one.first; });
    if (is_new) taken.push_back(one);
  }
  return taken;
}

void NeighbourGraph::insert(Row row) {
  const std::size_t own = top_level_[row];
  Near at{0, entry_};
  for (std::size_t level = top_level_[entry_]; level > own; --level) at = descend(at.second, row, level);
  std::vector<Near> from = {{apart(at.second, row), at.second}};
  std::vector<std::vector<Near>> chosen(own + 1);
  for (std::size_t level = own + 1; level-- > 0;) {
    from = search(row, std::move(from), level, options_.breadth);
    std::erase_if(from, [&](const Near& one) { return one.second == row; });
    chosen[level] = in_different_directions(from, options_.links);
  }
  // All its own links first: a search that comes by must find its way on.
  for (std::size_t level = 0; level <= own; ++level) {
    const std::scoped_lock lock(locks_[row % kLocks]);
    const std::span<Row> to = room(row, level);
    to[0] = static_cast<Row>(chosen[level].size());
    std::ranges::transform(chosen[level], to.begin() + 1, &Near::second);
  }
  for (std::size_t level = 0; level <= own; ++level) {
    for (const Near& other : chosen[level]) link(other.second, level, row, other.first);
  }
}

/// Adds a link from `row`. If it has as many as it can, those that lead nowhere new go.
void NeighbourGraph::link(Row row, std::size_t level, Row to, float distance) {
  const std::scoped_lock lock(locks_[row % kLocks]);
  const std::span<Row> has = room(row, level);
  const std::size_t count = has[0];
  if (count + 1 < has.size()) {
    has[++has[0]] = to;
    return;
  }
  std::vector<Near> all = {{distance, to}};
  for (const Row other : has.subspan(1)) all.emplace_back(apart(row, other), other);
  std::ranges::sort(all);
  const std::vector<Near> kept = in_different_directions(all, count);
  has[0] = static_cast<Row>(kept.size());
  std::ranges::transform(kept, has.begin() + 1, &Near::second);
}

std::vector<std::pair<float, std::uint32_t>> NeighbourGraph::nearest(std::uint32_t row, std::size_t count,
                                                                     std::size_t breadth) const {
  // The row itself is the best place to begin, and another one for rows that nothing leads away from.
  Near at{0, entry_};
  for (std::size_t level = top_level_[entry_]; level > 0; --level) at = descend(at.second, row, level);
  std::vector<Near> found =
      search(row, {{apart(at.second, row), at.second}, {apart(row, row), row}}, 0, std::max(breadth, count + 1));
  std::erase_if(found, [&](const Near& one) { return one.second == row; });
  for (Near& one : found) one.first = distance(one.second, row);
  std::ranges::sort(found);
  if (found.size() > count) found.resize(count);
  return found;
}

}  // namespace evener::task
