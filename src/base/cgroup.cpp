// Kernel documentation: admin-guide/cgroup-v2.rst (cpu.max, memory.max), scheduler/sched-bwc.rst and
// admin-guide/cgroup-v1/memory.rst (cpu.cfs_quota_us, memory.limit_in_bytes).
#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/numbers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  return to_number<std::int64_t>(first_line(file));
}

// The value of "key value" in a file like memory.stat; 0 if absent.
std::int64_t value_of(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string name;
  std::int64_t value = 0;
  while (in >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

bool contains(const std::string& list, const std::string& item) {
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (part == item) return true;
  }
  return false;
}

struct Mount {
  fs::path mount_point;
  std::string group_root;  // the group that is seen at the mount point
};

// The mount of a v1 controller, or of v2 for "" (mountinfo: id parent device root point options - type source super).
std::optional<Mount> find_mount(const fs::path& root, const std::string& controller) {
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string skipped, group_root, point, word, type, super_options;
    fields >> skipped >> skipped >> skipped >> group_root >> point;
    while (fields >> word && word != "-") {
    }
    fields >> type >> skipped >> super_options;
    const bool wanted =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && contains(super_options, controller);
    if (wanted) return Mount{root / fs::path(point).relative_path(), group_root};
  }
  return std::nullopt;
}

// Folders of this process's group and all above it, innermost first.
std::vector<fs::path> group_folders(const fs::path& root, const std::string& controller) {
  const auto mount = find_mount(root, controller);
  if (!mount) return {};
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "4:memory:/path" or, for v2, "0::/path"
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !contains(controllers, controller)) continue;
    std::string group = line.substr(second + 1);
    // In a container the mount may show only the container's own group as its root.
    if (mount->group_root.size() > 1 && (group + "/").starts_with(mount->group_root + "/")) {
      group.erase(0, mount->group_root.size());
    }
    std::vector<fs::path> folders;
    for (fs::path path = fs::path(group).relative_path(); !path.empty(); path = path.parent_path()) {
      const bool leaves = std::find(path.begin(), path.end(), "..") != path.end();
      if (!leaves && fs::exists(mount->mount_point / path)) folders.push_back(mount->mount_point / path);
    }
    folders.push_back(mount->mount_point);
    return folders;
  }
  return {};
}

void lower_quota(CgroupLimits& limits, std::optional<std::int64_t> quota_us, std::optional<std::int64_t> period_us) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return;
  const double cpus = static_cast<double>(*quota_us) / static_cast<double>(*period_us);
  limits.quota_cpus = limits.quota_cpus == 0 ? cpus : std::min(limits.quota_cpus, cpus);
}

void lower_memory(CgroupLimits& limits, std::optional<std::int64_t> limit, std::optional<std::int64_t> used,
                  std::int64_t reclaimable) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // v1 says "no limit" with a number near 2^63
  if (!limit || *limit <= 0 || *limit >= kNoLimit) return;
  const auto bytes = static_cast<std::uint64_t>(*limit);
  limits.memory_bytes = std::min(limits.memory_bytes.value_or(bytes), bytes);
  if (!used) return;
  const auto available = static_cast<std::uint64_t>(std::clamp<std::int64_t>(*limit - *used + reclaimable, 0, *limit));
  limits.available_bytes = std::min(limits.available_bytes.value_or(available), available);
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  for (const fs::path& folder : group_folders(root, "")) {
    std::istringstream cpu(first_line(folder / "cpu.max"));  // "50000 100000" or "max 100000"
    std::string quota, period;
    cpu >> quota >> period;
    lower_quota(limits, to_number<std::int64_t>(quota), to_number<std::int64_t>(period));
    lower_memory(limits, number_in(folder / "memory.max"), number_in(folder / "memory.current"),
                 value_of(folder / "memory.stat", "inactive_file"));
  }
  for (const fs::path& folder : group_folders(root, "cpu")) {
    lower_quota(limits, number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));
  }
  for (const fs::path& folder : group_folders(root, "memory")) {
    lower_memory(limits, number_in(folder / "memory.limit_in_bytes"), number_in(folder / "memory.usage_in_bytes"),
                 value_of(folder / "memory.stat", "total_inactive_file"));
  }
  return limits;
}

std::uint64_t oom_kills(const fs::path& root) {
  return static_cast<std::uint64_t>(value_of(root / "proc/vmstat", "oom_kill"));
}

}  // namespace evener
