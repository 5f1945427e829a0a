// Kernel documentation: admin-guide/cgroup-v2.rst (cpu.max, memory.max), scheduler/sched-bwc.rst and
// admin-guide/cgroup-v1/memory.rst (cpu.cfs_quota_us, memory.limit_in_bytes).
#include "base/cpu.h"

#include <hwloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/thread_place.h"

namespace evener {
namespace {

// A CPU set of any size: sched_getaffinity wants one at least as large as the kernel's.
class CpuSet {
 public:
  explicit CpuSet(int cpus) : bytes_(CPU_ALLOC_SIZE(cpus)), set_(CPU_ALLOC(cpus)) { CPU_ZERO_S(bytes_, set_); }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;

  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, set_); }
  bool has(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes_, set_); }
  cpu_set_t* get() { return set_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  cpu_set_t* set_;
};

std::vector<int> allowed_cpus() {
  constexpr int kMostCpus = 1 << 16;
  for (int cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    CpuSet set(cpus);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      if (errno == EINVAL) continue;  // the kernel knows more CPUs than fit
      break;
    }
    std::vector<int> allowed;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      if (set.has(cpu)) allowed.push_back(cpu);
    }
    return allowed;
  }
  std::vector<int> all(std::max(1U, std::thread::hardware_concurrency()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

/// The number of allowed cores and CPUs that are in `some`.
std::pair<int, int> counts_among(hwloc_const_bitmap_t some, const CpuTopology& topology) {
  const auto is_among = [&](int cpu) { return hwloc_bitmap_isset(some, static_cast<unsigned>(cpu)) == 1; };
  return {
      static_cast<int>(std::ranges::count_if(topology.allowed, is_among)),
      static_cast<int>(std::ranges::count_if(topology.cores, is_among, [](const auto& core) { return core.front(); }))};
}

// Reads the kinds of cores, fastest first, and sorts the cores likewise. Kinds are dropped where there is only one, and
// where hwloc hasn't ranked them by speed.
void read_kinds(hwloc_topology_t raw, CpuTopology& topology) {
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> cpus(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const int kinds = hwloc_cpukinds_get_nr(raw, 0);
  std::vector<std::vector<int>> cores;
  for (int i = kinds - 1; i >= 0; --i) {  // hwloc has the slowest first
    CpuKind kind;
    int rank = 0;
    unsigned infos = 0;
    hwloc_info_s* info = nullptr;
    if (hwloc_cpukinds_get_info(raw, static_cast<unsigned>(i), cpus.get(), &rank, &infos, &info, 0) != 0) return;
    if (rank < 0) return;
    std::tie(kind.cpus, kind.cores) = counts_among(cpus.get(), topology);
    if (kind.cpus == 0) continue;
    for (unsigned n = 0; n < infos; ++n) {
      const std::string_view name = info[n].name;
      if (name == "CoreType") kind.name = info[n].value;
      if (name == "LinuxCapacity") kind.capacity = to_number<int>(info[n].value).value_or(0);
      if (name == "FrequencyMaxMHz") kind.highest_mhz = to_number<int>(info[n].value).value_or(0);
    }
    topology.kinds.push_back(std::move(kind));
    for (const auto& core : topology.cores) {
      if (hwloc_bitmap_isset(cpus.get(), static_cast<unsigned>(core.front()))) cores.push_back(core);
    }
  }
  // Sorting by kinds must not lose a core that belongs to none.
  if (topology.kinds.size() < 2 || cores.size() != topology.cores.size()) {
    topology.kinds.clear();
  } else {
    topology.cores = std::move(cores);
  }
}

// Groups the allowed CPUs by core and counts packages and NUMA nodes; false if hwloc can't tell. `xml`: of another
// machine, of which all CPUs are allowed; null for this one.
bool read_hwloc(CpuTopology& topology, const std::string* xml = nullptr) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return false;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(raw, hwloc_topology_destroy);
  // Only cores, packages and nodes are asked for: caches and devices would cost time.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const auto type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE}) {
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  if (xml != nullptr && hwloc_topology_set_xmlbuffer(raw, xml->c_str(), static_cast<int>(xml->size() + 1)) != 0) {
    return false;
  }
  if (hwloc_topology_load(raw) != 0) return false;
  if (xml != nullptr) {
    const hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(raw);
    for (int cpu = hwloc_bitmap_first(all); cpu >= 0; cpu = hwloc_bitmap_next(all, cpu))
      topology.allowed.push_back(cpu);
  }
  topology.packages = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PACKAGE));
  topology.numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE));
  const int cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
  for (int i = 0; i < cores; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(raw, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    std::vector<int> cpus;
    for (const int cpu : topology.allowed) {
      if (hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(cpu))) cpus.push_back(cpu);
    }
    if (!cpus.empty()) topology.cores.push_back(std::move(cpus));
  }
  if (topology.cores.empty()) return false;
  read_kinds(raw, topology);
  return true;
}

// The model's name and those of our features that the kernel lets programs use.
void read_cpuinfo(CpuTopology& topology) {
  static constexpr std::array<const char*, 7> kFeatures = {"avx2",        "fma",      "avx512f", "avx512_bf16",
                                                           "avx512_vnni", "amx_bf16", "amx_int8"};
  std::ifstream in("/proc/cpuinfo");
  std::vector<std::string> flags;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      if (!topology.model.empty() && !flags.empty()) break;  // the first CPU speaks for all
      continue;
    }
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    const std::string value = begin == std::string::npos ? "" : line.substr(begin);
    if (key == "model name" && topology.model.empty()) topology.model = value;
    if ((key == "flags" || key == "Features") && flags.empty()) {
      std::istringstream words(value);
      for (std::string word; words >> word;) flags.push_back(word);
    }
  }
  if (topology.model.empty()) topology.model = "unknown CPU";
  for (const char* feature : kFeatures) {
    if (std::find(flags.begin(), flags.end(), feature) != flags.end()) topology.features.emplace_back(feature);
  }
}

CpuTopology read_topology() {
  CpuTopology topology;
  topology.allowed = allowed_cpus();
  if (!read_hwloc(topology)) {
    topology.cores.clear();
    for (const int cpu : topology.allowed) topology.cores.push_back({cpu});
  }
  topology.quota_cpus = read_cgroup_limits().quota_cpus;
  read_cpuinfo(topology);
  return topology;
}

std::uint64_t meminfo_bytes(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream value(line.substr(key.size() + 1));
    std::uint64_t kib = 0;
    value >> kib;
    return kib * 1024;
  }
  return 0;
}

/// `count` CPUs, or fewer if the quota is smaller.
int within_quota(std::size_t count) {
  const double quota = cpu_topology().quota_cpus;
  const auto all = static_cast<int>(count);
  return std::max(1, quota > 0 ? std::min(all, static_cast<int>(std::ceil(quota))) : all);
}

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

void lower_memory(CgroupLimits& limits, const fs::path& file, std::optional<std::int64_t> used,
                  std::int64_t reclaimable) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // v1 says "no limit" with a number near 2^63
  const std::optional<std::int64_t> limit = number_in(file);
  if (!limit || *limit <= 0 || *limit >= kNoLimit) return;
  const auto bytes = static_cast<std::uint64_t>(*limit);
  const std::uint64_t before = limits.available_bytes.value_or(limits.memory_bytes.value_or(bytes + 1));
  limits.memory_bytes = std::min(limits.memory_bytes.value_or(bytes), bytes);
  const auto available = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(*limit - used.value_or(0) + (used ? reclaimable : 0), 0, *limit));
  if (used) limits.available_bytes = std::min(limits.available_bytes.value_or(available), available);
  if (available < before) limits.memory_file = file.string();
}

}  // namespace

const CpuTopology& cpu_topology() {
  static const CpuTopology topology = read_topology();
  return topology;
}

std::optional<CpuTopology> topology_from_xml(const std::string& xml) {
  CpuTopology topology;
  if (!read_hwloc(topology, &xml)) return std::nullopt;
  return topology;
}

std::string kinds_text(const std::vector<CpuKind>& kinds) {
  std::string text;
  for (const CpuKind& kind : kinds) {
    text += (text.empty() ? "" : ", ") + counted(kind.cores, "core") + (kind.name.empty() ? "" : " " + kind.name);
    text += " (" + counted(kind.cpus, "CPU");
    std::array<char, 64> number{};
    if (kind.highest_mhz > 0)
      std::snprintf(number.data(), number.size(), ", up to %.2f GHz", kind.highest_mhz / 1000.0);
    text += number.data();
    if (kind.capacity > 0) text += ", capacity " + std::to_string(kind.capacity);
    text += ")";
  }
  return text;
}

int usable_cores() {
  return within_quota(cpu_topology().cores.size());
}

int usable_cpus() {
  return within_quota(cpu_topology().allowed.size());
}

std::vector<int> cpus_of_this_thread() {
  std::vector<int> cpus = cpus_of_places_of_this_thread();
  return cpus.empty() ? allowed_cpus() : cpus;
}

void pin_this_thread(const std::vector<int>& cpus) {
  const CpuTopology& topology = cpu_topology();  // read before the first pinning: it must see all allowed CPUs
  const std::vector<int>& wanted = cpus.empty() ? topology.allowed : cpus;
  const auto fail = [&](const std::string& why) {
    std::string text;
    for (const int cpu : wanted) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    throw Error("can't pin a thread to CPU " + text + ": " + why + "; this process may use " +
                std::to_string(topology.allowed.size()) + " CPUs, from " + std::to_string(topology.allowed.front()) +
                " to " + std::to_string(topology.allowed.back()));
  };
  CpuSet set(std::max(1024, *std::max_element(wanted.begin(), wanted.end()) + 1));
  for (const int cpu : wanted) {
    // The kernel would silently drop a CPU that is not allowed and keep the rest.
    if (!std::binary_search(topology.allowed.begin(), topology.allowed.end(), cpu)) {
      fail("CPU " + std::to_string(cpu) + " is not one of those allowed");
    }
    set.add(cpu);
  }
  if (sched_setaffinity(0, set.bytes(), set.get()) != 0) fail(std::strerror(errno));
  rebase_places_of_this_thread(wanted);
}

PinnedTo::PinnedTo(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const std::vector<int> before = cpus_of_this_thread();
  if (std::ranges::is_permutation(before, cpus)) return;
  pin_this_thread(cpus);
  before_ = before;
}

PinnedTo::~PinnedTo() {
  if (!before_.empty()) pin_this_thread(before_);
}

namespace {

/// The limits of a process alone, and which number of /proc/self/statm is what it has of that.
constexpr std::tuple<decltype(RLIMIT_AS), int, const char*> kProcessLimits[] = {{RLIMIT_AS, 0, "ulimit -v"},
                                                                                {RLIMIT_DATA, 5, "ulimit -d"}};

/// Pages in bytes; 0 where that is unknown.
unsigned long long own_bytes(int number) {
  std::ifstream file("/proc/self/statm");
  unsigned long long pages = 0;
  for (int n = 0; n <= number && file; ++n) file >> pages;
  return file ? pages * static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

MemoryLimits memory_limits(const fs::path& root) {
  const CgroupLimits group = read_cgroup_limits(root);
  MemoryLimits limits;
  limits.total_bytes = meminfo_bytes("MemTotal");
  limits.available_bytes = meminfo_bytes("MemAvailable");
  const auto lower = [&](unsigned long long available_bytes, const std::string& limit) {
    if (available_bytes >= limits.available_bytes) return;
    limits.available_bytes = available_bytes;
    limits.limit = limit;
  };
  if (group.memory_bytes && *group.memory_bytes < limits.total_bytes) {
    limits.total_bytes = *group.memory_bytes;
    lower(group.available_bytes.value_or(*group.memory_bytes),
          "the control group's limit of " + bytes_text(*group.memory_bytes) + " in " + group.memory_file);
  }
  for (const auto& [resource, number, shown_by] : kProcessLimits) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const unsigned long long used = own_bytes(number);
    lower(limit.rlim_cur > used ? limit.rlim_cur - used : 0, std::string("the limit that '") + shown_by + "' shows");
  }
  return limits;
}

std::string memory_advice(const fs::path& root) {
  const std::string limit = memory_limits(root).limit;
  return "close other programs" + (limit.empty() ? "" : ", or raise " + limit);
}

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  for (const fs::path& folder : group_folders(root, "")) {
    std::istringstream cpu(first_line(folder / "cpu.max"));  // "50000 100000" or "max 100000"
    std::string quota, period;
    cpu >> quota >> period;
    lower_quota(limits, to_number<std::int64_t>(quota), to_number<std::int64_t>(period));
    lower_memory(limits, folder / "memory.max", number_in(folder / "memory.current"),
                 value_of(folder / "memory.stat", "inactive_file"));
  }
  for (const fs::path& folder : group_folders(root, "cpu")) {
    lower_quota(limits, number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));
  }
  for (const fs::path& folder : group_folders(root, "memory")) {
    lower_memory(limits, folder / "memory.limit_in_bytes", number_in(folder / "memory.usage_in_bytes"),
                 value_of(folder / "memory.stat", "total_inactive_file"));
  }
  return limits;
}

std::uint64_t oom_kills(const fs::path& root) {
  return static_cast<std::uint64_t>(value_of(root / "proc/vmstat", "oom_kill"));
}

}  // namespace evener
