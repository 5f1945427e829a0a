#include "task/faces/group.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace evener::task {
namespace {

/// Faces that are taken for one person so far. The sum of unit vectors tells their mean distances: the mean of
/// |a - b|^2 over all a of one group and b of another is 2 - 2 (A . B) / (|A| |B| faces).
struct Group {
  std::vector<std::size_t> faces;
  std::set<std::size_t> photos;
  std::vector<double> sum;
};

double mean_squared_distance(const Group& a, const Group& b) {
  const double product = std::inner_product(a.sum.begin(), a.sum.end(), b.sum.begin(), 0.0);
  return 2 - 2 * product / (static_cast<double>(a.faces.size()) * static_cast<double>(b.faces.size()));
}

bool share_a_photo(const Group& a, const Group& b) {
  return std::ranges::any_of(a.photos, [&](std::size_t photo) { return b.photos.contains(photo); });
}

void join(Group& into, Group& from) {
  into.faces.insert(into.faces.end(), from.faces.begin(), from.faces.end());
  into.photos.insert(from.photos.begin(), from.photos.end());
  std::ranges::transform(into.sum, from.sum, into.sum.begin(), std::plus<>());
  from = {};
}

class Grouping {
 public:
  Grouping(const Embeddings& embeddings, const std::vector<FaceFacts>& faces, double limit)
      : faces_(faces), limit_squared_(limit * limit), of_face_(faces.size()) {
    for (std::size_t i = 0; i < faces.size(); ++i) {
      const auto row = embeddings[i];
      groups_.push_back({{i}, {faces[i].photo}, {row.begin(), row.end()}});
      of_face_[i] = i;
    }
  }

  void grow(const std::vector<NearPair>& pairs) {
    for (const NearPair& pair : pairs) {
      if (faces_[pair.first].can_found && faces_[pair.second].can_found) try_to_join(pair);
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
  void try_to_join(const NearPair& pair) {
    const std::size_t a = of_face_[pair.first], b = of_face_[pair.second];
    if (a == b || share_a_photo(groups_[a], groups_[b])) return;
    if (mean_squared_distance(groups_[a], groups_[b]) > limit_squared_) return;
    for (const std::size_t face : groups_[b].faces) of_face_[face] = a;
    join(groups_[a], groups_[b]);
  }

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

}  // namespace evener::task
