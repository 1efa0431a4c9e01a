#include "deck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error.hpp"

namespace plait::lbm {
namespace {

const std::string kGood = R"([lattice]
size = [16, 16, 16]
[fluid]
viscosity = 0.1
[run]
steps = 10
)";

std::string complaint(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    (void)parse_deck(text, "some.toml", settings);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Deck, GoodOneIsRead) {
  const Deck d = parse_deck(kGood, "decks/some.toml");
  EXPECT_EQ(d.name, "some");
  EXPECT_EQ(d.size, (Int3{16, 16, 16}));
  EXPECT_EQ(d.steps, 10);
  EXPECT_TRUE(d.periodic(0) && d.periodic(1) && d.periodic(2));
}

TEST(Deck, ReynoldsNumberGivesTheViscosity) {
  const Deck d = parse_deck("lattice.size=[8,8,8]\nrun.steps=1\nfluid={reynolds=100,velocity=0.1,length=50}", "a.toml");
  EXPECT_DOUBLE_EQ(d.viscosity, 0.05);
}

TEST(Deck, SettingsReplaceValues) {
  const Deck d = parse_deck(kGood + "[[geometry.packing]]\nradius=4.0\nvolume-fraction=0.3\n", "a.toml",
                            {"lattice.size=[32,32,32]", "geometry.packing.radius=5.0", "output.fields=false"});
  EXPECT_EQ(d.size, (Int3{32, 32, 32}));
  EXPECT_EQ(d.geometry.packings.at(0).radius, 5.0);
  EXPECT_EQ(d.geometry.packings.at(0).volume_fraction, 0.3);
  EXPECT_FALSE(d.fields);
}

struct Bad {
  const char* name;
  std::string text;
  const char* says;
};
void PrintTo(const Bad& b, std::ostream* out) { *out << b.name; }

class BadDeckTest : public testing::TestWithParam<Bad> {};

TEST_P(BadDeckTest, IsRefusedInOneLineThatSaysWhatIsRight) {
  const std::string line = complaint(GetParam().text);
  EXPECT_THAT(line, testing::HasSubstr(GetParam().says));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Decks, BadDeckTest,
    testing::Values(
        Bad{"UnknownKey", kGood + "stepz = 3\n", "some.toml:7: 'run.stepz' is unknown; did you mean 'steps'?"},
        Bad{"UnknownTable", kGood + "[gemoetry]\n", "'gemoetry' is unknown; did you mean 'geometry'?"},
        Bad{"MistypedTable", "[latice]\nsize=[1,1,1]\n", "'latice' is unknown; did you mean 'lattice'?"},
        Bad{"MissingTable", "[lattice]\nsize=[4,4,4]\n", "the table [fluid] is missing"},
        Bad{"MissingKey", "[lattice]\n[fluid]\nviscosity=0.1\n[run]\nsteps=1\n", "'lattice.size' must be three whole numbers"},
        Bad{"NotToml", "lattice = = 3", "some.toml:1:"},
        Bad{"WrongType", "lattice.size=[4,4,4]\nfluid.viscosity='high'\nrun.steps=1\n", "'fluid.viscosity' must be a number, not a text"},
        Bad{"FractionOfASite", "lattice.size=[4,4,4.5]\nfluid.viscosity=1\nrun.steps=1\n", "'lattice.size' must be three whole numbers"},
        Bad{"NoSites", "lattice.size=[4,0,4]\nfluid.viscosity=1\nrun.steps=1\n", "of at least 1"},
        Bad{"NegativeViscosity", "lattice.size=[4,4,4]\nfluid.viscosity=-1\nrun.steps=1\n", "must be above 0"},
        Bad{"ViscosityOutOfRange", "lattice.size=[4,4,4]\nfluid.viscosity=1e-9\nrun.steps=1\n", "0.0001 to 10"},
        Bad{"TwoViscosities", "lattice.size=[4,4,4]\nfluid={viscosity=0.1,reynolds=10}\nrun.steps=1\n", "give one"},
        Bad{"ReynoldsAlone", "lattice.size=[4,4,4]\nfluid.reynolds=10\nrun.steps=1\n", "needs 'fluid.velocity' and 'fluid.length'"},
        Bad{"NoSteps", "lattice.size=[4,4,4]\nfluid.viscosity=0.1\nrun.steps=0\n", "'run.steps' must be at least 1, not 0"},
        Bad{"WallOnOneSide", kGood + "[walls]\nx-low=[0,0,0]\n", "needs 'x-high' too"},
        Bad{"WallIntoTheFluid", kGood + "[walls]\nx-low=[0.1,0,0]\nx-high=[0,0,0]\n", "may only move along itself"},
        Bad{"FastWall", kGood + "[walls]\nx-low=[0,0.4,0]\nx-high=[0,0,0]\n", "slower than 0.3"},
        Bad{"DensePacking", kGood + "[[geometry.packing]]\nradius=2.0\nvolume-fraction=0.7\n", "at most 0.55"},
        Bad{"SphereWithoutRadius", kGood + "[[geometry.sphere]]\ncenter=[1,2,3]\n", "'geometry.sphere.radius' is missing"},
        Bad{"EmptyBox", kGood + "[[geometry.box]]\nlow=[1,2,3]\nhigh=[1,4,5]\n", "must be above 'low'"},
        Bad{"UnknownCheck", kGood + "[check]\nagainst='giha'\ntolerance=0.1\n", "did you mean 'ghia'?"},
        Bad{"CheckThatDoesNotFit", kGood + "[check]\nagainst='duct'\ntolerance=0.1\n", "needs walls in y and z"}),
    [](const auto& info) { return info.param.name; });

TEST(Deck, BadSettingIsNamed) {
  EXPECT_THAT(complaint(kGood, {"lattice.size"}), testing::HasSubstr("must be key=value"));
  EXPECT_THAT(complaint(kGood, {"lattice.sise=[1,1,1]"}), testing::HasSubstr("did you mean 'size'?"));
}

}  // namespace
}  // namespace plait::lbm
