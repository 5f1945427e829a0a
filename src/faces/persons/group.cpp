#include "faces/persons/group.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace evener::faces {
namespace {

/// Faces that are taken for one person so far. Sums tell their mean distances: the mean of |a - b|^2 over all a of one
/// group and b of another is the mean |a|^2 plus the mean |b|^2 less 2 (A . B) / (faces of A * faces of B). The squares
/// are not taken for 1, which is where they were rounded to: what that leaves is much for faces that are equal.
struct Group {
  std::vector<std::size_t> faces;
  std::set<std::size_t> photos;
  double squares = 0;       // sum of |a|^2
  std::vector<double> sum;  // empty for one face, whose embedding it is: of a million faces most stay alone
};

bool share_a_photo(const Group& a, const Group& b) {
  return std::ranges::any_of(a.photos, [&](std::size_t photo) { return b.photos.contains(photo); });
}

void join(Group& into, Group& from) {
  into.faces.insert(into.faces.end(), from.faces.begin(), from.faces.end());
  into.photos.insert(from.photos.begin(), from.photos.end());
  into.squares += from.squares;
  from = {};
}

class Grouping {
 public:
  Grouping(const Embeddings& embeddings, const std::vector<FaceFacts>& faces, double limit)
      : embeddings_(embeddings), faces_(faces), limit_squared_(limit * limit), of_face_(faces.size()) {
    for (std::size_t i = 0; i < faces.size(); ++i) {
      double squares = 0;
      for (const float value : embeddings[i]) squares += static_cast<double>(value) * value;
      groups_.push_back({{i}, {faces[i].photo}, squares, {}});
      of_face_[i] = i;
    }
  }

  void grow(const std::vector<NearPair>& pairs) {
    for (const NearPair& pair : pairs) {
      if (faces_[pair.first].can_found && faces_[pair.second].can_found) try_to_join(pair);
    }
  }

  /// Joins groups between which faces are near each other in many places, the densest first. A few faces that are like
  /// both, which is what a bridge is, don't suffice.
  void join_dense(const std::vector<NearPair>& pairs) {
    for (bool joined = true; joined;) {
      joined = false;
      std::set<std::size_t> changed;  // groups of which the shares are not known any more
      for (const auto& [a, b] : dense_pairs(pairs)) {
        if (changed.contains(a) || changed.contains(b) || share_a_photo(groups_[a], groups_[b])) continue;
        unite(a, b);
        changed.insert({a, b});
        joined = true;
      }
    }
  }

  /// Faces that can't found a group go to the nearest one that has been founded.
  void take_in(const std::vector<NearPair>& pairs) {
    for (const NearPair& pair : pairs) {
      const bool first = faces_[pair.first].can_found, second = faces_[pair.second].can_found;
      if (first == second) continue;
      const std::size_t founder = first ? pair.first : pair.second, other = first ? pair.second : pair.first;
      if (groups_[of_face_[other]].faces.size() == 1 && groups_[of_face_[founder]].faces.size() > 1) try_to_join(pair);
    }
  }

  std::vector<int> numbers() const {
    std::vector<int> numbers(faces_.size(), -1);
    std::map<std::size_t, int> number_of;
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      const std::size_t group = of_face_[i];
      if (groups_[group].faces.size() < 2) continue;
      numbers[i] = number_of.emplace(group, static_cast<int>(number_of.size())).first->second;
    }
    return numbers;
  }

 private:
  /// The nearness of two groups.
  struct Between {
    std::size_t near = 0;              // pairs
    std::set<std::size_t> of_a, of_b;  // faces in them
  };
  using TwoGroups = std::pair<std::size_t, std::size_t>;

  /// Groups of which kDense of all pairs are near each other, and half of the faces of either are near one of the
  /// other; the densest first. A single face has nothing that could be dense: the limit on the mean distance judged
  /// it. (Of a million faces most are single, and millions of pairs lead to them.)
  std::vector<TwoGroups> dense_pairs(const std::vector<NearPair>& pairs) const {
    constexpr double kDense = 0.3;  // where two persons are most alike on ORL's photos it is 0.24
    std::map<TwoGroups, Between> all;
    for (const NearPair& pair : pairs) {
      std::size_t first = pair.first, second = pair.second;
      if (!faces_[first].can_found || !faces_[second].can_found || of_face_[first] == of_face_[second]) continue;
      if (std::min(groups_[of_face_[first]].faces.size(), groups_[of_face_[second]].faces.size()) < 2) continue;
      if (of_face_[first] > of_face_[second]) std::swap(first, second);
      Between& between = all[{of_face_[first], of_face_[second]}];
      ++between.near;
      between.of_a.insert(first);
      between.of_b.insert(second);
    }
    std::vector<std::pair<double, TwoGroups>> dense;
    for (const auto& [groups, between] : all) {
      const std::size_t a = groups_[groups.first].faces.size(), b = groups_[groups.second].faces.size();
      const double share = static_cast<double>(between.near) / static_cast<double>(a * b);
      const bool everywhere = 2 * between.of_a.size() >= a && 2 * between.of_b.size() >= b;
      if (share >= kDense && everywhere) dense.emplace_back(share, groups);
    }
    std::ranges::stable_sort(dense, [](const auto& x, const auto& y) { return x.first > y.first; });
    std::vector<TwoGroups> groups;
    for (const auto& [share, two] : dense) groups.push_back(two);
    return groups;
  }

  void try_to_join(const NearPair& pair) {
    const std::size_t a = of_face_[pair.first], b = of_face_[pair.second];
    if (a == b || share_a_photo(groups_[a], groups_[b])) return;
    if (mean_squared_distance(groups_[a], groups_[b]) > limit_squared_) return;
    unite(a, b);
  }

  /// Calls `take` with the sum of a group's embeddings.
  template <class Take>
  void with_sum(const Group& group, const Take& take) const {
    if (group.sum.empty()) {
      take(embeddings_[group.faces.front()]);
    } else {
      take(std::span(group.sum));
    }
  }

  double mean_squared_distance(const Group& a, const Group& b) const {
    double product = 0;
    with_sum(a, [&](auto of_a) {
      with_sum(b, [&](auto of_b) {
        for (std::size_t i = 0; i < of_a.size(); ++i) {
          product += static_cast<double>(of_a[i]) * static_cast<double>(of_b[i]);
        }
      });
    });
    const auto of_a = static_cast<double>(a.faces.size()), of_b = static_cast<double>(b.faces.size());
    return a.squares / of_a + b.squares / of_b - 2 * product / (of_a * of_b);
  }

  void unite(std::size_t a, std::size_t b) {
    std::vector<double> sum;
    with_sum(groups_[a], [&](auto values) { sum.assign(values.begin(), values.end()); });
    with_sum(groups_[b], [&](auto values) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    });
    groups_[a].sum = std::move(sum);
    for (const std::size_t face : groups_[b].faces) of_face_[face] = a;
    join(groups_[a], groups_[b]);
  }

  const Embeddings& embeddings_;
  const std::vector<FaceFacts>& faces_;
  const double limit_squared_;
  std::vector<Group> groups_;
  std::vector<std::size_t> of_face_;
};

}  // namespace

std::vector<int> group_faces(const Embeddings& embeddings, const std::vector<FaceFacts>& faces,
                             const std::vector<NearPair>& pairs, const GroupOptions& options) {
  Grouping grouping(embeddings, faces, options.limit);
  grouping.grow(pairs);
  grouping.join_dense(pairs);
  grouping.take_in(pairs);
  return grouping.numbers();
}

std::vector<int> keep_numbers(const std::vector<int>& groups, const std::vector<int>& before, int first_new) {
  std::map<std::pair<int, int>, std::size_t> shared;  // faces of a group that had a number
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] >= 0 && before[i] >= 0) ++shared[{groups[i], before[i]}];
  }
  std::vector<std::pair<std::pair<int, int>, std::size_t>> claims(shared.begin(), shared.end());
  std::ranges::stable_sort(claims, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<int, int> number_of;
  std::set<int> taken;
  for (const auto& [claim, faces] : claims) {
    const auto& [group, number] = claim;
    if (!number_of.contains(group) && taken.insert(number).second) number_of[group] = number;
  }
  std::vector<int> numbers(groups.size(), -1);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] < 0) continue;
    if (!number_of.contains(groups[i])) number_of[groups[i]] = first_new++;
    numbers[i] = number_of[groups[i]];
  }
  return numbers;
}

}  // namespace evener::faces
