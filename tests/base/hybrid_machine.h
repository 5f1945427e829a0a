// A machine with fast and slow cores as hwloc describes it, for those who have none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace evener::test {

using Cores = std::vector<std::vector<int>>;  // the CPUs of each

/// "0x00000001,0x80000000": the highest 32 CPUs first.
inline std::string cpu_mask(const std::vector<int>& cpus) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(*std::ranges::max_element(cpus)) / 32 + 1);
  for (const int cpu : cpus) words[static_cast<std::size_t>(cpu) / 32] |= std::uint32_t{1} << (cpu % 32);
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    char word[16];
    std::snprintf(word, sizeof word, "0x%08x", words[i]);
    text += (text.empty() ? "" : ",") + std::string(word);
  }
  return text;
}

inline std::vector<int> cpus_of(const Cores& cores) {
  std::vector<int> cpus;
  for (const auto& core : cores) cpus.insert(cpus.end(), core.begin(), core.end());
  return cpus;
}

/// `ranked`: whether it is known which are the fast ones.
inline std::string hybrid_xml(const Cores& fast, const Cores& slow, bool ranked = true) {
  Cores all = fast;
  all.insert(all.end(), slow.begin(), slow.end());
  std::ranges::sort(all);
  const auto object = [](const std::string& type, int number, const std::vector<int>& cpus, const std::string& more) {
    const std::string mask = cpu_mask(cpus);
    return "<object type=\"" + type + "\" os_index=\"" + std::to_string(number) + "\" cpuset=\"" + mask +
           "\" complete_cpuset=\"" + mask + "\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"" + more;
  };
  const auto kind = [&](const Cores& cores, const char* rank, const std::string& name, const std::string& capacity) {
    return "<cpukind cpuset=\"" + cpu_mask(cpus_of(cores)) + "\"" +
           (ranked ? " forced_efficiency=\"" + std::string(rank) + "\"" : "") + "><info name=\"" +
           (ranked ? "CoreType" : "Colour") + "\" value=\"" + name + "\"/>" +
           (ranked ? "<info name=\"LinuxCapacity\" value=\"" + capacity + "\"/>" : "") + "</cpukind>";
  };
  const std::vector<int> cpus = cpus_of(all);
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\">";
  text += object("Machine", 0, cpus, " allowed_cpuset=\"" + cpu_mask(cpus) + "\" allowed_nodeset=\"0x00000001\">");
  text += object("NUMANode", 0, cpus, " local_memory=\"1073741824\"/>");
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += object("Core", static_cast<int>(i), all[i], ">");
    for (const int cpu : all[i]) text += object("PU", cpu, {cpu}, "/>");
    text += "</object>";
  }
  return text + "</object>" + kind(slow, "0", "IntelAtom", "640") + kind(fast, "1", "IntelCore", "1024") +
         "</topology>";
}

}  // namespace evener::test
