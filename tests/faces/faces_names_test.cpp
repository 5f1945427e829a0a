// evener faces: persons with names that people gave them, and photos sorted by person.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/files.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/faces_helpers.h"
#include "support/run_helpers.h"
#include "support/run_program.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using test::joined;
using test::ProgramResult;
using test::Row;
using test::rows_of;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

class FacesNamed : public test::Faces {
 protected:
  /// Faces have to be sure ones, or none is like another.
  void SetUp() override {
    Faces::SetUp();
    if (IsSkipped()) return;
    TensorMap state = network::initial_state(network::build("mtcnn_onet", {}), 1);
    state.at("dense6_1.bias").floats()[1] += 20;
    weights::write_safetensors(weights() / "onet.safetensors", state);
  }
  /// Two photos of each of two "persons": the second is the first with a dot, and so like it as can be.
  void write_pairs() const {
    for (const char* name : {"a", "b"}) {
      write_photo(std::string(name) + ".pgm");
      std::string copy = read_file(folder_ / "photos" / (std::string(name) + ".pgm"));
      copy.back() = static_cast<char>(copy.back() ^ 1);
      test::write_text(folder_ / "photos" / (std::string(name) + "2.pgm"), copy);
    }
  }
  Words words_out(const Words& more = {}) const {
    return joined({file("photos"), "--out", file("out"), "--largest", "--limit", "0.02", "--founder-size", "0"}, more);
  }
  /// The group and the name of the face on a photo.
  std::pair<std::string, std::string> who(const std::string& photo) const {
    for (const Row& row : rows_of(folder_ / "out/faces.csv")) {
      if (fs::path(row.at("file")).filename() == photo) return {row.at("group"), row.at("name")};
    }
    return {"no row", ""};
  }
  /// What lies in a folder, with what below it.
  std::set<std::string> tree(const std::string& name) const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      names.insert(entry.path().lexically_relative(folder_ / name).string());
    }
    return names;
  }
};

TEST_F(FacesNamed, NamesLastAndFollowTheFaces) {
  write_pairs();
  ASSERT_EQ(faces(words_out()).exit_code, 0);
  const std::string group = who("a.pgm").first;
  ASSERT_FALSE(group.empty());
  ASSERT_EQ(who("a2.pgm").first, group);
  EXPECT_THAT(read_file(folder_ / "out/names.csv"), AllOf(HasSubstr("group,name\n"), HasSubstr(group + ",\n")));
  test::write_text(folder_ / "out/names.csv",
                   "\xEF\xBB\xBFgroup;name\r\n" + group + ";\"Anna \"\"A\"\" \xC3\x9C\"\r\n");
  const ProgramResult named = faces(words_out({"--resume"}));
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(read_file(folder_ / "out/faces.csv"), HasSubstr("," + group + ",\"Anna \"\"A\"\" \xC3\x9C\"\n"));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("Anna &quot;A&quot;"));
  // As many names in another order of photos, and a run begun anew: numbers may change, the name stays with its faces.
  fs::rename(folder_ / "photos/a.pgm", folder_ / "photos/z.pgm");
  fs::rename(folder_ / "photos/a2.pgm", folder_ / "photos/z2.pgm");
  const ProgramResult anew = faces(words_out({"--overwrite"}));
  ASSERT_EQ(anew.exit_code, 0) << anew.err;
  const std::string after = who("z.pgm").first;
  EXPECT_THAT(read_file(folder_ / "out/names.csv"), HasSubstr("\n" + after + ",\"Anna"));
  EXPECT_EQ(who("z2.pgm").first, after);
}

TEST_F(FacesNamed, AFaceIsTakenOutOfAPersonAndStaysOut) {
  write_pairs();
  ASSERT_EQ(faces(words_out()).exit_code, 0);
  const std::string group = who("a.pgm").first;
  ASSERT_EQ(who("a2.pgm").first, group);
  test::write_text(folder_ / "out/apart.csv",
                   "\xEF\xBB\xBF" + ("file;face\r\n\"" + file("photos/a2.pgm")) + "\";0;1.5\r\n");
  for (const char* how : {"--resume", "--overwrite"}) {
    ASSERT_EQ(faces(words_out({how})).exit_code, 0);
    EXPECT_EQ(who("a2.pgm").first, "") << how;
    EXPECT_EQ(who("a.pgm").first, "") << "nobody else is like it";
    EXPECT_EQ(who("b2.pgm").first, who("b.pgm").first);
  }
  test::write_text(folder_ / "out/apart.csv", "gone.pgm,0\n");
  const ProgramResult gone = faces(words_out({"--resume"}));
  EXPECT_THAT(gone.out, HasSubstr("'gone.pgm', which is not there"));
  EXPECT_EQ(who("a2.pgm").first, who("a.pgm").first);
  test::write_text(folder_ / "out/apart.csv", "a2.pgm\n");
  EXPECT_THAT(faces(words_out({"--resume"})).err, HasSubstr("line 1 of"));
}

TEST_F(FacesNamed, ALineThatIsNoNameIsTold) {
  write_photo("a.pgm");
  ASSERT_EQ(faces(words_out()).exit_code, 0);
  test::write_text(folder_ / "out/names.csv", "group,name\nAnna\n");
  const ProgramResult result = refused(words_out({"--resume"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("line 2 of"), HasSubstr("'Anna'"), HasSubstr("as in 3,Anna")));
  EXPECT_THAT(read_file(folder_ / "out/names.csv"), HasSubstr("Anna")) << "it stays as it was";
}

TEST_F(FacesNamed, SortsPhotosByPersonAndAgain) {
  write_pairs();
  const ProgramResult first = faces(words_out({"--sort", file("sorted")}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  std::set<std::string> links;
  for (const std::string& name : tree("sorted")) {
    if (fs::is_symlink(folder_ / "sorted" / name)) links.insert(fs::path(name).filename());
  }
  EXPECT_EQ(links, (std::set<std::string>{"a.pgm", "a2.pgm", "b.pgm", "b2.pgm"})) << "each photo is somewhere";
  EXPECT_EQ(fs::exists(folder_ / "sorted/unknown"), fs::exists(folder_ / "sorted/unknown/.evener-no-class"));
  test::write_text(folder_ / "sorted/@eaDir/thumb.txt", "a server's");
  const auto before = tree("sorted");
  const std::string group = who("a.pgm").first;
  const std::string folder = group.empty() ? "unknown" : "person-" + group;
  EXPECT_EQ(read_file(folder_ / "sorted" / folder / "a.pgm"), read_file(folder_ / "photos/a.pgm"));
  ASSERT_EQ(faces(words_out({"--resume", "--sort", file("sorted")})).exit_code, 0);
  EXPECT_EQ(tree("sorted"), before);
  if (!group.empty()) {
    test::write_text(folder_ / "out/names.csv", "group,name\n" + group + ",Anna/Bo\n");
    ASSERT_EQ(faces(words_out({"--resume", "--sort", file("sorted")})).exit_code, 0);
    EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/Anna_Bo/a.pgm"));
    EXPECT_FALSE(fs::exists(folder_ / "sorted" / folder)) << "what is no longer right goes";
  }
  test::write_text(folder_ / "sorted/unknown/mine.txt", "mine");
  const ProgramResult mine = refused(words_out({"--resume", "--sort", file("sorted")}));
  EXPECT_EQ(mine.exit_code, 2);
  EXPECT_THAT(mine.err, HasSubstr("holds 'unknown/mine.txt'"));
  EXPECT_EQ(read_file(folder_ / "sorted/unknown/mine.txt"), "mine");
  const ProgramResult foreign = refused(words_out({"--resume", "--sort", file("weights")}));
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("is no link that --sort made"));
  const ProgramResult within = refused(words_out({"--resume", "--sort", file("photos/sorted")}));
  EXPECT_EQ(within.exit_code, 2);
  EXPECT_THAT(within.err, HasSubstr("lies within the photos"));
}

}  // namespace
}  // namespace evener
