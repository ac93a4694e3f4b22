// The first 10,000 of at least six characters of the list of common passwords that Django 5.2 ships
// (`django/contrib/auth/common-passwords.txt.gz`, made by Royce Williams), sorted by their bytes. Copyright (c) Django Software
// Foundation and individual contributors; `NOTICE` has the license.

extension CommonPasswords {
    /// In lower case, sorted by their bytes, with a blank or the end of a line between two.
    static let list: StaticString = #"""
        !ab#cd$ !qaz2wsx "zxcvbnm," "zxcvbnm,./" #1bitch &#2336: &#2336; ****** -deleted- ...... .adgjm .adgjmptw
        0.00000000 000000 0000000 00000000 000000000 0000000000 0000001 0000007 000000a 000001 000007 00001111 000111
        000123 000777 000999 000webhost 001122 00112233 007007 009988 010101 01010101 01011980 010203 01020304
        0102030405 010203040506 01230123 012345 0123456 01234567 012345678 0123456789 0147258369 0147852369 014789
        0192837465 020202 030303 040404 050505 060606 070707 070809 080808 090807 090909 09121962q 098765 0987654
        09876543 0987654321 0o9i8u7y 0r968ji9ufj6 100000 1000000 100100 100200 100200300 100484 100500 101010 10101010
        101101 101112 102030 10203040 1020304050 102938 1029384756 110001 110011 110017 110019 110075 110085 110092
        110110 110119 110120 110688 111000 111111 1111111 11111111 111111111 1111111111 11111111111 111111111111
        1111111a 111111a 111111q 111112 11111a 11111q 11112222 1111qqqq 111213 111222 111222333 111222tianya 111333
        111555 111999 111aaa 111nice 111qqq 112112 112211 11221122 112233 1122334 11223344 1122334455 112233445566
        112233a 112233q 112358 11235813 1123581321 113113 113355 114477 115599 120120 121121 121212 12121212 1212121212
        1212123 121212a 121212q 121234 121283 121314 12131415 1213141516 122001 122002 122112 12211221 122333 123000
        1230123 12301230 123098 123123 1231230 1231231 12312312 123123123 123123123123 123123123a 1231234 123123a
        123123q 123123qwe 1232123 1232323q 123258 123321 1233210 123321123 123321123321 123321a 123321q 123369 123412
        12341234 1234321 12344321 123450 1234509876 123451 1234512345 123454321 123455 1234554321 123456 123456. 1234560
        12345600 1234561 123456123 123456123456 1234565 12345654321 1234566 123456654321 1234567 12345671 12345677
        12345678 123456781 123456789 123456789. 1234567890 1234567890- 12345678900 12345678900987654321 12345678901
        1234567890a 1234567890q 1234567891 12345678910 123456789123 123456789123456789 1234567899 123456789987654321
        123456789a 123456789abc 123456789asd 123456789b 123456789c 123456789d 123456789e 123456789f 123456789g
        123456789h 123456789i 123456789j 123456789k 123456789l 123456789m 123456789n 123456789o 123456789p 123456789q
        123456789qwe 123456789r 123456789s 123456789t 123456789v 123456789w 123456789z 12345678a 12345678m 12345678q
        12345678s 12345679 123456798 1234567a 1234567b 1234567d 1234567j 1234567k 1234567m 1234567q 1234567s 1234567z
        1234568 1234569 123456987 123456a 123456aa 123456aaa 123456ab 123456abc 123456abcd 123456as 123456asd 123456b
        123456c 123456d 123456e 123456f 123456g 123456h 123456i 123456j 123456k 123456l 123456m 123456n 123456o 123456p
        123456q 123456qaz 123456qq 123456qw 123456qwe 123456qwer 123456qwerty 123456r 123456s 123456t 123456v 123456w
        123456x 123456y 123456z 123456zxc 123457 123458 123459 12345a 12345abc 12345abcde 12345asd 12345b 12345c 12345d
        12345e 12345f 12345g 12345h 12345j 12345k 12345l 12345m 12345n 12345p 12345q 12345qaz 12345qw 12345qwe 12345qwer
        12345qwert 12345qwerty 12345r 12345s 12345t 12345v 12345w 12345z 123465 12348765 1234ab 1234abc 1234abcd
        1234asdf 1234qw 1234qwe 1234qwer 1234rewq 1234zxcv 123567 1235789 123654 123654789 123654a 123698 1236987
        12369874 123698741 123698745 123789 123789456 123890 123987 123a123 123a456 123aaa 123abc 123abc123 123abcd
        123admin321 123asd 123asd123 123ewq 123hfjdk147 123kid 123love 123mudar 123q123 123qaz 123qwe 123qwe123
        123qwe123qwe 123qweasd 123qweasdzxc 123qwer 123qwert 123qwerty 123soleil 123stella 123xyz 123zaq 123zxc 124578
        125125 128500 12qw12 12qw12qw 12qw23we 12qw34er 12qwas 12qwaszx 131313 13131313 131415 131420 131421 1314520
        1314521 132132 132435 13243546 132456 132465 134679 134679852 135246 135790 1357908642 135791 1357911 1357913579
        135792468 1357924680 135798642 1366613 14121412 141414 14141414 141516 142536 142857 143143 1435254 145236
        14531453 147147 147258 147258369 147369 1475369 1475963 147741 147852 147852369 147896 1478963 14789632
        147896321 147896325 147963 14881488 151515 15151515 153624 15426378 159159 159159159 159263 159357 159357456
        159632 1596321 159753 159753123 159753456 159753a 159852 159874 1598753 159951 161616 162534 168168 168asd168
        171204jg 171717 17171717 172839 181818 18atcskd2w 18n28n24a5 19031903 19051905 19071907 191919 19191919 192837
        19283746 192837465 19411945 19631963 19641964 19651965 19661966 19671967 19681968 19691969 19701970 19711971
        19721972 19731973 19741974 19751975 19761976 19771977 197777 19781978 19791979 198000 19801980 19811981 19821982
        19831983 19841984 198500 19851985 19861986 19871987 19881988 198888 19891989 19901990 19911991 19921992 19931993
        19941994 19951995 19961996 19971997 19981998 19991999 1a1a1a 1a2a3a 1a2a3a4a 1a2b3c 1a2b3c4d 1a2b3c4d5e 1a2s3d
        1a2s3d4f 1a2s3d4f5g 1andonly 1angel 1anthony 1asshole 1babygirl 1bitch 1blood 1butterfly 1chance 1chicken
        1cookie 1daddy 1diamond 1dragon 1family 1football 1fr2rfq7xl 1fucker 1fuckyou 1g2w3e4r 1hotmama 1hottie
        1iloveyou 1jesus 1love1 1loveme 1lover 1loveu 1loveyou 1melissa 1michael 1million 1mommy 1money 1monkey 1mother
        1myspace 1nigga 1onelove 1password 1player 1princess 1pussy 1q1q1q 1q1q1q1q 1q2q3q 1q2q3q4q 1q2w3e 1q2w3e4
        1q2w3e4r 1q2w3e4r5 1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o
        1q2w3e4r5t6y7u8i9o0p 1qa2ws 1qa2ws3ed 1qay2wsx 1qaz!qaz 1qaz1qaz 1qaz2w 1qaz2wsx 1qaz2wsx3edc 1qazwsx 1qazxc
        1qazxsw2 1qazxsw23edc 1qazzaq1 1qw23er4 1qwert 1qwerty 1secret 1sunshine 1superman 1truelove 1v7upjw3nt 1z2x3c
        1z2x3c4v 1zn6fpn01x 1zxcvbnm 200000 20002000 2000comeer 20012001 20022002 20032003 20042004 20052005 20062006
        20072007 20082008 20082009 20092009 201010 20102010 20112011 20122012 2012comeer 201301 201314 202020 20202020
        203040 21122112 211314 212121 21212121 212223 2128506 214365 222111 222222 2222222 22222222 2222222222 222333
        223322 223344 22334455 224466 22446688 225588 228228 232323 23232323 232425 234234 234567 2345678 23456789
        235689 23jordan 242424 24242424 242526 246810 24681012 246813579 24682468 25011990 25251325 252525 25252525
        258000 25800852 25802580 258258 258369 258456 258741 258852 258963 262626 272727 282828 290966 292929 29rsavoy
        2babies 2blessed 2bornot2b 2children 2cool4u 2cute4u 2fast4u 2gether 2girls 2good4u 2hot4u 2lovers 2sexy4u
        2sweet 2wsx3edc 302010 303030 313131 314159 31415926 321123 321321 321321321 321456 321654 321654987 321678
        323232 332211 333222 333333 3333333 33333333 333333333 3333333333 333444 333555 333666 333777 333999 334455
        336699 343434 345678 3456789 353535 357159 357951 362436 363636 369258 369258147 369369 369852 369852147 369963
        36mafia 373737 383838 393041123 393939 3children 3d8cubaj2e 3edc4rfv 3girls 3odi15ngxb 3rjs1la2qe 3rjs1la7qe
        3rjs5la8qe 3s43pth5aea 400053 400101 404040 414141 415263 420420 420weed 421uiopy258 424242 434343 444444
        4444444 44444444 4444444444 444555 445566 454545 45454545 456123 456123789 456258 456321 456456 456456456 456654
        456789 456789123 456852 456987 464646 474747 4815162342 484848 4children 4everlove 4myspace 4runner 505050
        50cent 51505150 515151 5201314 520520 5211314 521521 525252 535353 543210 545454 5482++ 5532361cnjqrf 555555
        5555555 55555555 555555555 5555555555 555556 55555a 555666 555777 555888 556677 560037 560076 560078 565656
        56565656 567890 575757 57chevy 584520 585858 595959 5hsu75kpot 5poppin 5xfgs3ii9d 606060 616161 619619 626262
        635241 636363 646464 654123 654321 6543210 6543211 654321a 654321q 654654 654987 656565 6655321 666333 666555
        666666 6666666 66666666 666666666 6666666666 666666a 666777 666888 666999 676767 67mustang 686868 696969
        69696969 69camaro 6hbf28w791 6v21wbgad 707070 709394 717171 727272 73501505 737373 74107410 74108520 7412369
        741258 741258963 741741 741852 741852963 741963 747474 748596 753159 753357 753951 757575 7654321 767676 7753191
        7758258 7758520 7758521 777555 777666 777777 7777777 77777777 7777777777 7777777a 777888 777999 778899 784512
        786786 786786786 787878 787898 789123 789123456 789456 789456123 7894561230 789456a 7895123 7896321 78963214
        789632145 789654 789654123 789789 789789789 789852 789987 794613 797979 7elephants 7ugd5hip2j 808080 818181
        828282 85208520 8522003 852258 852456 852852 852963 858585 8675309 868686 87654321 87654321q 878787 885522
        888888 8888888 88888888 8888888888 888999 895623 898989 8ix6s1fceh 8phrowz624 9-11-1961 906090 909090 9111961
        911911 918273645 9293709b13 92k2cizcdp 9379992 951159 951357 951753 9562876 959595 963258 963258741 963852
        963852741 963963 969696 980099 986532 987123 987321 987412365 987456 987456321 987654 9876543 98765432 987654321
        9876543210 9876543211 987654321a 987654321q 987789 987987 989898 996633 998877 999000 999666 999888 999999
        9999999 99999999 999999999 9999999999 9uzp9jek3f <blank> <password> ?????? ??????? ???????? ?????????? a00000
        a000000 a11111 a111111 a1111111 a112233 a121212 a123098 a123123 a123321 a12345 a123456 a1234567 a12345678
        a123456789 a123456a a123654 a1a1a1 a1a1a1a1 a1a2a3 a1a2a3a4 a1a2a3a4a5 a1b2c3 a1b2c3d4 a1b2c3d4e5 a1s2d3
        a1s2d3f4 a1s2d3f4g5 a23456 a654321 a7777777 a801016 a838hfid aa123123 aa1234 aa123456 aaa111 aaa123 aaa123123
        aaaa1111 aaaaa1 aaaaaa aaaaaa1 aaaaaaa aaaaaaa1 aaaaaaaa aaaaaaaaa aaaaaaaaaa aaasss aaliyah aaliyah1 aardvark
        aaron1 aaron123 aaron431 ab1234 ab123456 abby123 abc123 abc1234 abc12345 abc123456 abc123abc abc321 abcabc
        abcd12 abcd123 abcd1234 abcd12345 abcd123456 abcde1 abcde123 abcde12345 abcdef abcdef1 abcdef123 abcdefg
        abcdefg1 abcdefg123 abcdefgh abcdefgh1 abcdefghi abcdefghij abdullah aberdeen abhishek abigail abigail1 abiodun
        abracadabra abraham abrakadabra access accord account account1 ace123 achilles acmilan action acuario ad123456
        adam12 adam123 addison addison1 adebayo adekunle adelaide adelina adeline adeola adewale adgjmp adgjmptw adidas
        adidas1 aditya admin1 admin123 administrator adonis adrian adrian1 adriana adriana1 adrianna adriano adrien
        adrienne adventure aerosmith aezakmi africa africa1 afrika afrodita again1 agent007 aggies agnieszka agosto
        agustin aiden1 aikido aileen airborne airforce airforce1 airplane aishiteru akatsuki akax89wn akopa123 alabama
        alabama1 alaska alaska1 albatros albert albert1 alberto alberto1 albina alcatel ale123 alegria alejandra
        alejandra1 alejandro alejandro1 aleksandr aleksandra aleksey alenka alessandra alessandro alessia alessio alex01
        alex10 alex11 alex12 alex123 alex1234 alex13 alex14 alex22 alexa1 alexalex alexander alexander1 alexander2
        alexandr alexandra alexandra1 alexandre alexandria alexandru alexey alexia alexis alexis09 alexis1 alexis12
        alexis123 alexis2 alfaromeo alfonso alfred alfred19 alfredo alfredo1 algerie ali123 aliali alibaba alice1 alicia
        alicia1 aliens alinka alisha alisha1 alison alison1 alissa all4one alladin79 allah1 allah786 allahu allen1
        alliance allie1 allison allison1 allmine allstar allstar1 almighty almond alondra alonso alpha1 alpha123 alpine
        althea alucard alvarez alvaro always always1 alyssa alyssa1 amadeus amalia amanda amanda1 amanda11 amanda12
        amanda123 amanda2 amandine amarillo amazing amazing1 amazon amber1 amber123 amelia amelia1 amelie america
        america1 america10 america12 america123 america2 american american1 amerika amethyst amigas amigos amistad
        amor123 amorcito amoremio amores amormio amoure amours amsterdam amsterdam1 amy123 ana123 anaconda anakin
        anamaria ananas anarchy anarchy1 anastasia anastasiya anders anderson anderson1 andre1 andre123 andrea andrea1
        andrea123 andreas andreas1 andreea andrei andrej andres andres1 andrew andrew01 andrew1 andrew11 andrew12
        andrew123 andrew13 andrew2 andrey android andromeda andy123 anfield angel01 angel07 angel08 angel09 angel1
        angel10 angel101 angel11 angel12 angel123 angel13 angel14 angel15 angel16 angel17 angel18 angel2 angel21 angel22
        angel23 angel3 angel4 angel5 angel6 angel666 angel69 angel7 angel8 angel88 angel9 angela angela1 angelbaby
        angelbaby1 angeles angeleyes angelica angelica1 angelika angelina angelina1 angeline angelique angelita angelito
        angelo angelo1 angels angels1 angels2 angelus angie1 angus1 anhyeuem animal animal1 animals animals1 anime1
        anita1 anjali anjing ankara anna123 annaanna annabelle annabelle1 annalisa annamaria annette annette1 annie1
        annie123 annika answer antares anthony anthony1 anthony12 anthony123 anthony13 anthony2 anthony3 anthony5
        anthony7 antoine antonella antonia antonio antonio1 antony anubis anuradha anything anything1 aobo2010 aol123
        apache apollo apollo1 apollo13 apple1 apple12 apple123 apple2 applepie applepie1 apples apples1 apples123 april1
        april10 april11 april12 april13 april14 april15 april16 april17 april18 april19 april20 april21 april22 april23
        april24 april25 april26 april27 april28 april29 aprilia apsk54321 aptx4869 aquarius aqwzsx aragorn archana
        archangel archer archie archie1 architect area51 argentina argentina1 ariana ariana1 ariane arianna arianna1
        ariel1 arizona arizona1 arlene armagedon armando armando1 armani armstrong arnaud arnold arnold1 arschloch
        arsenal arsenal1 arsenal123 arsenal14 artemis artemka arthur arthur1 artist artist1 arturo as1234 as123456
        as790433 asasas asasasas asd123 asd1234 asd12345 asd123456 asd123asd asd456 asdasd asdasd1 asdasd123 asdasd5
        asdasdasd asddsa asdf12 asdf123 asdf1234 asdf3423 asdfasdf asdfasdf1 asdffdsa asdfg1 asdfg123 asdfg12345 asdfgh
        asdfgh1 asdfgh12 asdfgh123 asdfghj asdfghj1 asdfghjk asdfghjk1 asdfghjkl asdfghjkl1 asdfghjkl123 asdfghjkl:
        asdfjkl asdfjkl: asdfjkl; asdfqwer asdfzxcv asdqwe asdqwe123 asdzxc ash123 ashanti ashish ashlee ashlee1
        ashleigh ashleigh1 ashley ashley01 ashley1 ashley11 ashley12 ashley123 ashley13 ashley2 ashley3 ashley7 ashton
        ashton1 aspire aspirine asroma ass123 assasin assass assass1 assassin assassin1 asshole asshole! asshole1
        asshole12 asshole123 asshole2 asshole69 assman asterix astonvilla astrid athena athena1 atlanta atlanta1
        atlantis atomic attila attitude aubrey aubrey1 auburn auburn1 audia3 audia4 audrey audrey1 august august1
        august11 august12 august13 august14 august21 august22 august23 aurelia aurelie aurora aurore aussie austin
        austin01 austin1 austin12 austin123 austin316 australia australia1 autumn autumn1 avalanche avalon avatar
        avatar1 awesome awesome1 awsome ayesha ayomide az123456 azamat azazaz azerty azerty1 azerty123 azertyu azertyui
        azertyuiop azsxdc azsxdcfv b12345 b123456 b123456789 bababa babatunde babe123 babies baby01 baby07 baby08 baby09
        baby10 baby101 baby11 baby12 baby123 baby1234 baby13 baby14 baby15 baby16 baby21 baby22 baby23 baby69 babybaby
        babybear babyblue babyblue1 babyboo babyboo1 babyboy babyboy1 babyboy2 babycakes babycakes1 babydoll babydoll1
        babyface babyface1 babygirl babygirl! babygirl01 babygirl08 babygirl09 babygirl1 babygirl10 babygirl11
        babygirl12 babygirl13 babygirl14 babygirl15 babygirl16 babygirl19 babygirl2 babygirl20 babygirl21 babygirl22
        babygirl23 babygirl3 babygirl4 babygirl5 babygirl69 babygirl7 babygirl9 babygurl babygurl1 babygurl12 babyko
        babylon babylon5 babylove babylove1 babyphat1 bacardi bacchus backend backspace backspace1 backstreet bacon1
        badass badass1 badbitch1 badboy badboy1 badboy2 badboys badger badger1 badgirl badgirl1 badman badminton bagira
        bailey bailey01 bailey1 bailey12 bailey123 baili123com bajingan baker1 baker3 bakugan balaji balance balla1
        baller baller1 baller12 baller23 baller3 ballet ballin ballin1 ballin23 balls1 bam123 bambam bambam1 bambino
        bamboo banana banana1 banana11 banana123 bananas bananas1 banane bandit bandit1 bandung bangalore bangbang
        bangladesh banshee baptiste barbados barbara barbara1 barbie barbie1 barbie123 barcelona barcelona1 barkley
        barney barney1 barselona barsik bartek baseball baseball1 baseball10 baseball11 baseball12 baseball13 baseball14
        baseball15 baseball2 baseball21 baseball22 baseball23 baseball24 baseball3 baseball4 baseball5 baseball6
        baseball7 baseball8 baseball9 basket basket1 basketbal1 basketball basketball1 bassman bassman1 bastard bastard1
        batista batista1 batman batman1 batman12 batman123 batman2 battle battlefield bautista baxter baxter1 bayern
        bball1 bball12 bball23 bbbbbb bdfyjd beach1 beaches beagle beaner beaner1 beanie bear12 bear123 bearbear bears1
        bearshare beast1 beatles beatles1 beatrice beatriz beautiful beautiful1 beautiful2 beauty beauty1 beaver beaver1
        beavis bebe123 becca1 beckham beckham23 beckham7 becky1 beethoven beetle behappy believe believe1 belinda
        belinda1 bella1 bella12 bella123 belle1 bellissima beloved ben123 benben bender benedict benfica bengals1 benito
        benjamin benjamin1 benji1 benjie bennett benny1 benoit benson bentley bentley1 berenice berlin bermuda
        bernadette bernard bernard1 bernardo bernie berry1 bertha bertie besiktas bessie bestfriend bestfriends bethany
        bethany1 better betty1 bettyboop bettyboop1 beverly beverly1 beyonce beyonce1 bharat bhbirf bhebhe bianca
        bianca1 biatch big123 bigbang bigben bigbird bigboobs bigboss bigboy bigboy1 bigcock bigdaddy bigdaddy1 bigdick
        bigdick1 bigdog bigdog1 bigfoot bigfoot1 biggie biggie1 bighead bighead1 bigmac bigmac1 bigman bigman1 bigmoney
        bigmoney1 bigpimpin1 bigred bigred1 bigsexy1 bigtits billabong billabong1 billie billie1 billy1 billy123
        billybob billybob1 billyboy bingo1 bintang biology bionicle birdie birdman birdman1 birthday birthday1 biscuit
        biscuit1 bishop bishop1 bismillah bitch! bitch01 bitch1 bitch101 bitch11 bitch12 bitch123 bitch13 bitch2 bitch22
        bitch23 bitch3 bitch5 bitch69 bitch7 bitchass1 bitches bitches1 bitchy bitchy1 biteme biteme1 biteme2 bjk1903
        bkl29m2bk blabla blabla1 blablabla black1 black12 black123 black13 black2 blackberry blackbird blackcat
        blackcat1 blackdog blackhawk blackie blackie1 blackjack blackjack1 blackman blackops blackrose blacky blacky1
        blade1 blades blah123 blahblah blahblah1 blake1 blanca blanche blanco blasted1 blaster blaze1 blaze420 blazer
        blazer1 bleach bleach1 blessed blessed1 blessing blessing1 blessings blingbling blink123 blink182 blizzard
        blizzard1 blogs123 blonde blonde1 blondie blondie1 blood1 blood5 bloods bloods1 bloody bloody1 blossom blossom1
        blowjob blowme blowme1 blue10 blue11 blue12 blue123 blue1234 blue13 blue14 blue21 blue22 blue23 blue32 blue42
        blue99 bluebell blueberry blueberry1 bluebird bluebird1 blueblue blueeyes blueeyes1 bluefish bluemoon bluesky
        bluesky1 bmx4life bob123 bobafett bobbie bobbob bobbob1 bobby1 bobby123 bobcat bobmarley bobmarley1 bobobo
        bogart bogdan bollocks bollox bologna bombay bomber bonbon bond007 bonehead bones1 bonheur bonita bonita1
        bonjour bonjour1 bonjovi bonjovi1 bonkers bonnie bonnie1 bonsai boo123 boobear boobear1 boobie boobie1 boobies
        boobies1 booboo booboo1 booboo12 booboo123 booboo2 boobs1 booger booger1 boogie boogie1 bookmark bookworm
        boomboom boomboom1 boomer boomer1 boots1 booty1 borabora bordeaux boricua boricua1 borussia bosco1 bossman
        bossman1 bossy1 boston boston1 boubou bounty bowling bowling1 bowwow bowwow1 boxcar boxing boxing1 boy123
        boyfriend bradford bradley bradley1 brady12 brandi brandi1 brandon brandon1 brandon12 brandon123 brandon2
        brandon3 brandon7 brandy brandy1 brasil bratz1 braveheart braves braves1 brayden brayden1 brazil brazil1 breanna
        breanna1 breeze breezy brenda brenda1 brendan brendan1 brennan bretagne brian1 brian123 briana briana1 brianna
        brianna1 briciola bridge bridget bridget1 bright brighton brigitte bristol britney britney1 britt1 brittany
        brittany1 brittney brittney1 broadway brodie broken broken1 bronco broncos broncos1 brooke brooke1 brooklyn
        brooklyn1 brooks brother brother1 brothers brown1 brownie brownie1 browns bruce1 brucelee bruins bruno1 bruno123
        brutus brutus1 bryan1 bryant bryant24 bscirc bubba1 bubba123 bubble bubble1 bubblegum bubblegum1 bubbles
        bubbles1 bubbles12 bubbles123 bubbles2 buckeye buckeye1 buckeyes buckeyes1 budapest buddha buddha1 buddie buddy1
        buddy12 buddy123 buddy2 buddyboy budlight budlight1 budweiser budweiser1 buffalo buffalo1 buffy1 bugger
        bugsbunny bugsbunny1 bulldog bulldog1 bulldogs bulldogs1 bullet bullet1 bulls23 bullshit bullshit1 bumblebee
        bumbum bunnies bunny1 bunny123 burger burrito burton burton1 bushido bushido1 business business1 busted busted1
        buster buster01 buster1 buster11 buster12 buster123 buster2 butch1 butler butter butter1 buttercup buttercup1
        butterfly butterfly1 butterfly2 butterfly3 butterfly7 butterfly8 butthead butthead1 butthole butthole1 button
        buttons buttons1 byebye byusdg23 c.ronaldo c12345 c123456 c43qpul5rz caballo cabbage caca123 cachorro cactus
        cadillac cadillac1 caesar cafemom caitlin caitlin1 caitlyn caleb1 caliente california calimero caline callie
        callie1 callofduty callum calvin calvin1 calypso camaro camaro1 camaroz28 cambiami cambridge camelot camera
        camera1 camero1 cameron cameron1 camila camilla camille camille1 camilo campbell camper canada canada1 canadian
        cancel cancer cancer1 cancun candace candice candice1 candle candy1 candy12 candy123 candy2 candycane candycane1
        candygirl1 candyman canela cannabis cannon cantik cantona cantona7 canyon capital1 capoeira capone caprice
        capricorn capricorn1 capslock captain captain1 car123 caramel caramel1 caramelo caravan carbon cardinal
        cardinals cardinals1 carebear carebear1 career career121 carina carlitos carlos carlos1 carlos12 carlos123
        carlotta carlton carmel carmela carmelo carmelo15 carmen carmen1 carol1 carola carole carolina carolina1
        caroline caroline1 carolyn carolyn1 carpediem carpenter carrera carrie carrie1 carrot carson carson1 carter
        carter1 carter15 cartman cartman1 cartoon cartoon1 casablanca casanova casey1 casey123 cashmoney cashmoney1
        casino casper casper1 cassandra cassandra1 cassidy cassidy1 cassie cassie1 castillo castle castro cat123 catalin
        catalina catania catarina catcat catch22 catdog catdog1 caterina catfish catfish1 catherine catherine1 cathy1
        catwoman cavalier cavallo cazzone cbr600 cbr600rr cccccc cdtnbr cdtnkfyf cecile cecilia cecilia1 cedric celeron
        celeste celeste1 celica celina celine cellphone cellphone1 celtic celtic1 celtic1888 celtics center central
        central1 cepetsugih cerise cesar1 cessna cevthrb cfitymrf cgfhnfr chacha chacha1 champ1 champagne champion
        champion1 chance chance1 chandler chandler1 chandra chanel chanel1 change change1 changeme changeme1 chantal
        chaos1 charger charger1 chargers chargers1 chargers21 charity charlene charles charles1 charley charlie
        charlie01 charlie1 charlie12 charlie123 charlie2 charlie3 charlie7 charlotte charlotte1 charly charmaine charmed
        charmed1 charming chase1 chase123 chaton cheater cheater1 cheche checkers cheeky cheer1 cheer123 cheers cheese
        cheese! cheese1 cheese12 cheese123 cheese2 cheesecake cheetah cheetah1 chelle chelsea chelsea1 chelsea123
        chelseafc chelsey chemical chemistry chennai cherie cherokee cherokee1 cherries cherry cherry1 cherry12
        cherry123 cheryl cheryl1 chester chester1 cheval chevelle chevrolet chevrolet1 chevy1 chevys10 chewy1 cheyenne
        cheyenne1 chiara chicago chicago1 chicca chicco chichi chichi1 chicken chicken1 chicken12 chicken123 chicken2
        chickens chico1 chiefs chihuahua children children1 children2 children3 chillin china1 chinese chinnu chino1
        chipie chipper chipper1 chippy chiquita chivas chivas1 chivas10 chivas100 chivas11 chivas12 chivas123 chivas13
        chloe1 chloe123 chobits chocolat chocolate chocolate1 chocolate2 chopper chopper1 chosen chosen1 chouchou
        choupette chris01 chris1 chris10 chris11 chris12 chris123 chris13 chris14 chris2 chris21 chris22 chris23 chris3
        chris5 chrisb1 chrisbrown chrissy chrissy1 christ christ1 christelle christian christian1 christian2 christie
        christina christina1 christine christine1 christmas christmas1 christophe christopher christy christy1 chronic
        chronic1 chronic420 chubby chubby1 chuchu chuck1 chuckie chucky chucky1 chunky church church1 ciaociao ciara1
        ciccio cimbom cinder cinderella cindy1 cinema cinnamon cinnamon1 cintaku citroen cjkysirj cjkywt cjmasterinf
        claire claire1 clancy clarence clarinet clarissa class07 class08 class09 classic classic1 classof07 classof08
        classof09 classof200 classof201 claude claudia claudia1 claudine claudio clayton clayton1 clement clemson
        clemson1 cleopatra cleveland cleveland1 clifford clifford1 clinton clinton1 cloud9 clouds clover clover1 clowns
        clueless cm6e7aumn9 cme2012 cobain cobra1 cocacola cocacola1 coco12 coco123 cocoa1 cococo coconut coconut1
        cody123 coffee coffee1 coldplay coleman coleman1 colleen colleen1 college college1 collin collins colocolo
        colombia colombia1 colorado colorado1 colt45 colton colton1 coltrane colts1 colts18 columbia columbus comcast1
        comeon11 comfort coming command commander commando company compaq compaq1 compton1 computador computer computer1
        computer12 computer123 computer2 computers concrete condom condor conejo confused confused1 connect conner
        conner1 connie connie1 connor connor1 conrad contact control control1 converse converse1 cookie cookie1 cookie11
        cookie12 cookie123 cookie2 cookie3 cookiemons cookies cookies1 cookies123 cookies2 cooking cool11 cool12 cool123
        cool1234 coolboy coolcat coolcat1 coolcool cooldude cooldude1 cooler coolgirl coolguy coolguy1 coolio coolio1
        coolkid coolkid1 coolman coolman1 coolness cooper cooper1 copper copper1 coralie corazon corazon1 cordoba corey1
        corina corinne corleone cornelia corolla corona corona1 corrado corvette corvette1 cosmo1 cosmos cotton cotton1
        coucou cougar cougar1 cougars counter country country1 coupon coupons couponsc10 courage courtney courtney1
        cowboy cowboy1 cowboys cowboys1 cowboys22 cowgirl cowgirl1 coyote cracker cracker1 crackers crackhead1 craig1
        crazy1 crazy12 crazy123 crazy2 crazy4u crazy8 create creation creative creative1 crevette cricket cricket1
        cricri criminal crimson crimson1 crip4life cristal cristi cristian cristian1 cristiano cristina cristina1 cristo
        crjhgbjy crosby87 crossfire cruise crusader cruzazul crystal crystal1 cthtuf cthutq cucciola cucciolo cucumber
        cuddles cuddles1 cupcake cupcake1 cupcakes curious curtis curtis1 cute123 cuteako cutegirl cuteme cutie1
        cutie101 cutie12 cutie123 cutie2 cutiepie cutiepie1 cutiepie12 cv1230 cxfcnmt cynthia cynthia1 czz000 d12345
        d123456 d123456789 d1lakiss d2xyw89sxj d71lwz9zjs d9zufqd92n dad123 dadada daddy1 daddy12 daddy123 daddy2
        daddygirl1 daddysgirl daewoo dagger daisy1 daisy12 daisy123 dakota dakota1 dalejr dalejr8 dalejr88 dalila dallas
        dallas1 dallas214 dallas22 dalton dalton1 damian damian1 damien damien1 damilola damnit dan123 dance1 dance123
        dancer dancer1 dancing dancing1 dandan danger danger1 dangerous danica daniel daniel01 daniel1 daniel10 daniel11
        daniel12 daniel123 daniel13 daniel19 daniel2 daniela daniela1 daniele daniella danielle danielle1 daniels daniil
        danila danilo danny1 danny123 dannyboy dante1 daphne daredevil darina darius darius1 darkangel darkangel1
        darklord darkness darkness1 darkside darkstar darkstar1 darlene darlene1 darling darling1 darrell darrell1
        darren darren1 darthvader darwin dating daughter dauphin david1 david12 david123 david2 davide davids davidson
        davinci dawson dayana dayday1 daytona dbnfkbr dbrnjh dbrnjhbz dd123456 dddddd deadman deadman1 deanna deanna1
        dearbook death1 death123 death666 deathnote debbie debbie1 debora deborah deborah1 december december1 december12
        december25 dee123 deedee deedee1 deejay deepak deerhunter default defender deftones deftones1 delacruz delete
        delete1 delfin delfino dell123 delphine delpiero delta1 demon1 demon123 demon1q2w3e demon1q2w3e4r
        demon1q2w3e4r5t demon666 demons denden denisa denise denise1 deniska denmark dennis dennis1 dentist denver
        denver1 derek1 derp12!@ derrick derrick1 desert design design1 designer desire desiree desiree1 deskjet desmond
        desmond1 desperado destiny destiny1 destiny2 destroy destroyer detroit detroit1 detroit313 deutsch deutschland
        devil1 devil666 devildog devilmaycry devils devin1 devon1 dexter dexter1 dfcbkbq dfkthbz dfkthf dfktynbyf dfvgbh
        dharma diablo diablo1 diablo2 diablo666 diamant diamante diamond diamond1 diamond2 diamonds diamonds1 diana1
        diana123 diane1 dianne dick123 dickhead dickhead1 didier diego1 diego123 diesel diesel1 dietcoke dietcoke1
        digger digger1 digimon digital digital1 dilbert dilligaf dillon dillon1 dimadima dimitri dimple dimples dinamo
        dinara dinesh dingdong dinosaur diosesamor diosesfiel dipset dipset1 director dirtbike dirtbike1 dirty1 discover
        discovery disney disney1 disturbed disturbed1 divine divorce diwtgm8492 dixie1 dkflbckfd dkflbr dkflbvbh dmitriy
        doberman doctor doctor1 dodge1 dodger dodgeram dodgers dodgers1 dog123 dogdog dogdog1 doggie doggie1 doggy1
        dolapo dollar dollar1 dollars dolly1 dolores dolphin dolphin1 dolphins dolphins1 domenico domingo dominic
        dominic1 dominican1 dominik dominika dominique dominique1 domino domino1 donald donald1 dondon donkey donkey1
        donna1 donnie donnie1 donovan donovan1 dont4get dontforget dontknow donuts doodle doodle1 doodoo doodoo1 dookie
        dookie1 doomsayer.2.7mords.v doomsayer.2.7mords.vv doraemon doreen dorian dorothy dorothy1 dortmund dottie
        doudou douglas douglas1 download dpbk1234 dr.pepper dracula dragon dragon01 dragon1 dragon11 dragon12 dragon123
        dragon13 dragon2 dragon22 dragon5 dragon69 dragon7 dragon88 dragonball dragonballz dragonfly dragonfly1 dragons
        dragons1 dragoon drake1 drakon dream1 dreamer dreamer1 dreams dreams1 driver drjynfrnt drogba drowssap drowssap1
        drpepper drpepper1 drummer drummer1 dt123456 dthjybrf dublin ducati duchess duckie ducky1 dude12 dude123 dudley
        dumbass dumbass1 duncan duncan1 dupont durango durango1 dustin dustin1 dusty1 dutchess dwade3 dwayne dwayne1
        dylan1 dylan123 dynamite dynasty dynasty1 e12345 e123456 e3r4t5y6 eagle1 eagles eagles1 eagles5 easter eastside
        eastside1 easy123 eatshit eatshit1 ebony1 eclipse eclipse1 ecuador eddie1 edgar1 edison eduard eduardo eduardo1
        education edward edward1 edward12 edward123 edwards eeeeee eeyore eeyore1 eh1k9oh335 eight8 eileen einstein
        ekaterina elaine elaine1 eldorado eleanor electra electric electro elefant elefante element element1 elena1
        eleonora elephant elephant1 eleven eleven11 eliana elijah elijah1 elisabeth elizabeth elizabeth1 elizabeth2
        elizaveta ellie1 elliot elliott elliott1 elmo123 elodie eloise elvira elvis1 elwood emachines emachines1 emanuel
        emanuela emanuele emerald emerald1 emerica1 emerson emilia emiliano emilie emilio emily1 emily123 eminem eminem1
        eminem12 eminem123 emma123 emmanuel emmanuel1 emo123 emotional empire empire1 energy engineer england england1
        english english1 enigma enrico enrique enrique1 enter1 enter123 enterprise entropy eqes606898 eragon eric123
        erica1 ericka ericsson erika1 ernest ernesto escape escorpion escort esmeralda esperanza espoir esteban estelle
        esther esther1 estrela estrella estrella1 estrellita eternal eternity ethan1 ethan123 etoile eugene eugene1
        eugenia eunice eureka europa europe evanescence evangelion evelyn evelyn1 everest evergreen everton everton1
        everything evgeniy evil666 evildick evolution evony1 evony192 ewanko excalibur exigent exodus expert expert12
        explorer explorer1 express extreme extreme1 ezekiel f00tball f12345 f123456 fabian fabiana fabien fabienne
        fabiola fabregas fabrice fabrizio fabulous fabulous1 facebook facebook1 faggot faggot1 faisal faith1 faith123
        faithful faithful1 fake123 falcon falcon1 falcons falcons1 fallen fallen1 fallout fallout3 familia familia1
        famille family family1 family12 family123 family2 family3 family4 family5 family6 family7 familyguy familyguy1
        famous famous1 fanfan fantasia fantastic fantasy fantasy1 farfalla farida farmer fashion fashion1 faster fatass
        fatass1 fatboy fatboy1 fatcat fatcat1 father father1 fatima fatima1 fatman fatman1 fatty1 favour fearless
        feather february feder_1941 federica federico felicia felicia1 felicidad felicidade felicity felipe felix1
        felix123 fellow female fender fender1 fenerbahce ferari ferdinand fergie ferguson fernanda fernandez fernando
        fernando1 ferrari ferrari1 ferreira ferret ffffff fghtkm fgtkmcby ficken fiesta figaro fighter fighter1 filippo
        filomena finalfantasy finance find_pass finger fiorentina fireball fireball1 firebird firebird1 fireblade
        firefighter firefly firefly1 firefox fireman fireman1 firenze fish123 fisher fisher1 fisherman fishes fishing
        fishing1 fitness fkbyjxrf fktrcfylh fktrcfylhf fktrctq fktyrf flamengo flames flamingo flamingo1 flash1 flatron
        flavia fletcher flight flipper flipper1 floppy florence florence1 florencia flores florian florida florida1
        florin flower flower1 flower12 flower123 flower2 flowers flowers1 fluffy fluffy1 flyboy1 flyers flying fondoom
        foobar football football! football08 football09 football1 football10 football11 football12 football13 football14
        football2 football20 football21 football22 football23 football24 football3 football32 football33 football4
        football5 football6 football7 football8 football9 fordf150 fordf250 forest forest1 forever forever1 forever2
        forever21 forget forget1 forgot forgot1 formula1 forrest fortuna fortune forward forzainter forzamilan forzaroma
        fossil foster fountain four20 foxpass foxtrot fqrg7cs493 france france1 frances frances1 francesca francesco
        francine francis francis1 francisca francisco francisco1 franck franco francois francy frank1 frank123 frankie
        frankie1 franklin franklin1 franky freak1 freaky freaky1 freckles freckles1 fred123 freddie freddie1 freddy
        freddy1 frederic frederick fredfred free123 freebird freebird1 freedom freedom1 freedom2 freeman freeman1
        freestyle freeway freeze112 french fresh1 friday friday1 friday13 friend friend1 friendly friends friends!
        friends1 friends12 friends123 friends2 friends4 friendship friendster frisco frogger frogger1 froggie froggy
        froggy1 front242 frosty frosty1 fu7u4a#$$$ fuck0ff fuck11 fuck12 fuck123 fuck1234 fuck666 fuck69 fucked fucker
        fucker1 fucker2 fuckers fuckface fuckface1 fuckfuck fucking fucking1 fuckit fuckit1 fucklove fucklove1
        fucklove13 fuckme fuckme1 fuckme123 fuckme2 fuckme69 fuckoff fuckoff! fuckoff1 fuckoff123 fuckoff2 fuckoff69
        fuckthis fuckthis1 fucku1 fucku123 fucku2 fucky0u fuckyou fuckyou! fuckyou. fuckyou1 fuckyou11 fuckyou12
        fuckyou123 fuckyou13 fuckyou2 fuckyou22 fuckyou3 fuckyou4 fuckyou5 fuckyou6 fuckyou666 fuckyou69 fuckyou7
        fuckyou8 fuckyou9 fuk19600 fuku00198 fullaccess fullmoon funky1 funny1 fusion fussball futbol futurama future
        future1 fuzzy1 fxzz75 fxzz75yer fyfcnfcbz fylhtq fytxrf fyutkbyf g-unit g12345 g123456 g13916055158 g9l2d1fzpy
        gabby1 gabriel gabriel1 gabriel123 gabriela gabriela1 gabriele gabriella gabrielle gabrielle1 gagged galatasaray
        galaxy galina gambit gameboy gameboy1 gamecube gamecube1 gameover games1 gandako gandalf gandalf1 ganesh ganesha
        gangsta gangsta1 gangster gangster1 ganteng garbage garcia garcia1 garden garfield garfield1 garnet garrett
        garrett1 gaston gateway gateway1 gatita gatito gator1 gators gators1 gaurav gavin1 gay123 gayathri gbcmrf
        gbhfvblf gbpltw gegcbr geheim gemini gemini1 geminis general general1 genesis genesis1 geneva genius genius1
        geoffrey george george1 george12 george123 georgia georgia1 georgie georgina gerald geraldine gerard gerard1
        gerardo german german1 germany germany1 geronimo gerrard gerrard8 gertrude getmoney getmoney1 gfhjkm gfhjkm1
        gfhjkm123 gfhjkmgfhjkm gggggg ghbdtn ghbdtnbr ghblehjr ghbrjk ghbywtccf ghetto ghetto1 ghjcnj ghjcnjnfr ghost1
        ghostrider giacomo gianluca gianna gianni giants giants1 gibson gibson1 gideon gidget giggles giggles1 gilbert
        gilbert1 gilles gillian ginger ginger1 ginger12 ginger123 ginger2 giorgi giorgia giorgio giovanna giovanni
        giovanni1 giraffe girasole girl123 girlfriend girls1 giulia giuseppe gizmo1 gizmo123 gjkbyf gladiator gladys
        glamour glasgow glitter glitter1 global gloria gloria1 gmoney go2hell goaway goblin goblue god123 godbless
        goddess goddess1 godfather godfather1 godhelpme godis1 godisgood godisgood1 godisgreat godislove godislove1
        godlovesme godofwar godsmack godsmack1 godson godzilla godzilla1 goforit gogogo goldberg golden golden1
        goldeneye goldfish goldfish1 goldie goldie1 goldstar goldwing golfcourse golfer golfer1 golfing goliath gonzales
        gonzalez gonzalo goober goober1 good123 goodboy goodbye goodbye1 goodday goodgirl goodlife goodluck goodman
        goodness goodtimes goofy1 google google.com google1 google12 google123 goose1 gordo1 gordon gordon1 gordon24
        gorgeous gorgeous1 gorilla gorilla1 gotcha gotcha1 gothic gothic1 gotmilk gotohell grace1 grace123 gracie
        gracie1 graham granada grandkids grandma grandma1 grandpa grandpa1 granny granny1 grapes gratis great1 greece
        green1 green11 green12 green123 green13 green2 green22 green3 green5 green7 greenbay greenday greenday1
        greenday12 greeneyes greens gregor gregory gregory1 gremlin grenouille gretchen gribouille griffin griffin1
        gringo grizzly grizzly1 groovy groupd2013 grover grumpy gsxr1000 gsxr600 gsxr750 guadalupe guadalupe1 guardian
        guatemala guatemala1 gucci1 guerrero guigui guilherme guillaume guillermo guinness guinness1 guitar guitar1
        guitar123 guitarra gundam gunit1 gunner gunner1 gunners gustavo gwapako gwerty gwerty123 gymnast1 gymnastics
        h12345 h123456 h1xp2z2duk h2vwdubjx4 habibi hacker hacker1 haha12 haha123 hahaha hahaha1 hahaha123 hahahaha
        hailey hailey1 haley1 halflife halima hallo1 hallo123 halloween halloween1 halo123 hamburg hamburger hamilton
        hamilton1 hamish hamlet hammer hammer1 hammers hamster hamster1 handball handsome handsome1 hanna1 hannah
        hannah01 hannah1 hannah11 hannah12 hannah123 hannah2 hannibal hanson hanuman happiness happiness1 happy1 happy12
        happy123 happy2 happy7 happyday happydays hardcore hardcore1 hardrock hariom harley harley01 harley1 harley12
        harley123 harley2 harmony harmony1 harold harold1 harper harriet harris harris1 harrison harrison1 harry1
        harry123 harrypotte harrypotter harvey harvey1 hassan hater1 haters1 havana hawaii hawaii1 hawaii50 hawkeye
        hayabusa hayden hayden1 hayley hayley1 health heart1 heartbreak hearts hearts1 heather heather1 heaven heaven1
        heaven7 heckfy hector hector1 hedgehog hehehe heidi1 heineken hejhej hejsan hejsan123 helen1 helena helene
        hell666 hellboy hellfire hello! hello. hello1 hello11 hello12 hello123 hello1234 hello13 hello2 hello2u hello3
        hello5 hello7 hello9 hellohello hellokitty helloo hellothere helloworld hellsing hellyeah helpme helpme1 hendrix
        hendrix1 henrique henry1 henry123 henry14 hentai herbert herbie hercules hercules1 heritage herman hermes
        hermione hermosa hernandez hernandez1 heroes hershey hershey1 hesoyam hey123 heyhey heyhey1 hfytnrb hg0209
        hhhhhh hi1234 hidden higgins highheel highland highlander highschool hihihi hihihi1 hilary hilary1 hillary
        hilton hinata hiphop hiphop1 history history1 history278 hithere hitler hitman hitman1 hjccbz hjvfirf hobbes
        hobbit hockey hockey1 hockey10 hockey11 hockey12 hogwarts hohoho hola123 holahola holden holden1 holiday
        holiday1 holla1 holland holland1 hollie hollister hollister1 hollister2 holly1 holly123 hollywood hollywood1
        holmes holyshit home0401 home123 home1234 homeboy homelesspa homer1 homerun homework honda1 honda123 hondacivic
        honduras honduras1 honest honesty honey1 honey123 honeybee honeyko hongkong hookem hooker hooligan hooters
        hooters1 hoover hopeful hopper horizon hornet horney horny1 horse1 horses horses1 hospital hot123 hotboy hotboy1
        hotchick hotdog hotdog1 hotgirl hotgirl1 hotmail hotmail1 hotmama hotmama1 hotpink hotpink1 hotrod hotrod1
        hotshot hotshot1 hotstuff hotstuff1 hottie hottie! hottie1 hottie101 hottie11 hottie12 hottie123 hottie13
        hottie2 hottie3 hotties hotty1 house1 houses houston houston1 houston713 howard howard1 hubert hudson hughes
        huhbbhzu78 hummer hummer1 humtum hunter hunter01 hunter1 hunter11 hunter12 hunter123 hunter2 hunting hunting1
        hurley hurricane hurricane1 husband huskers huskers1 hussain hustler hustler1 hyderabad hyundai i23456 iamcool
        iamcool1 iamnumber1 iamthe1 iamthebest ibanez ibanez1 ibrahim icarus icecream icecream1 icehouse iceman iceman1
        ichigo ichliebedich id6c3wr6un idontcare idontknow idontknow1 idunno iforgot iforgot1 ig4abox4 ignacio iguana
        ihatethisgame ihateu ihateu1 ihateu2 ihateyou ihateyou! ihateyou1 ihateyou2 ijrjkfl il0vey0u il0veyou ilaria
        ilikepie ilikepie1 illinois illusion ilove1 ilove123 ilove69 ilovechris ilovegod ilovegod1 iloveher iloveher1
        ilovehim ilovehim! ilovehim1 ilovehim2 iloveindia ilovejesus ilovejusti iloveme iloveme! iloveme1 iloveme123
        iloveme2 ilovemike ilovemom ilovemom1 ilovemusic ilovemymom ilovemysel ilovemyself ilovepussy ilovesex iloveu
        iloveu! iloveu1 iloveu12 iloveu123 iloveu2 iloveyou iloveyou! iloveyou. iloveyou01 iloveyou08 iloveyou09
        iloveyou1 iloveyou10 iloveyou11 iloveyou12 iloveyou123 iloveyou13 iloveyou14 iloveyou15 iloveyou16 iloveyou2
        iloveyou21 iloveyou22 iloveyou23 iloveyou3 iloveyou4 iloveyou5 iloveyou6 iloveyou69 iloveyou7 iloveyou8
        iloveyou9 iluvme iluvme1 iluvu1 iluvu2 ily123 imagine imcool imcool1 imgay1 imissyou immortal imnumber1 impala
        imperial impossible imthebest incorrect incubus incubus1 india1 india123 indian indian1 indiana indiana1 indians
        indigo indira indonesia indya123 inferno infiniti infinity infinity1 information ingrid inlove inlove1 innocent
        insane insane1 insanity insert inside inspiron integra interests international internet internet1 intruder
        inuyasha inuyasha1 iphone ireland ireland1 irinka irish1 irishka irock1 ironmaiden ironman ironman1 isaac1
        isabel isabel1 isabela isabella isabella1 isabelle isabelle1 isaiah isaiah1 island ismael ismail israel israel1
        istanbul itachi italia italia1 italian italian1 italiano italien iubire ivanov ivanova iverson iverson1 iverson3
        iw14fi9j iw14fi9jxl j12345 j123456 j1234567 j123456789 j38ifubn jack12 jack123 jack1234 jackal jackass jackass1
        jackass2 jacket025 jackie jackie1 jackjack jackpot jackson jackson1 jackson2 jackson5 jacob1 jacob123 jacobs
        jacqueline jacques jaden1 jaguar jaguar1 jaihanuman jaimatadi jajaja jakarta jakcgt333 jake12 jake123 jakjak
        jamaica jamaica1 jamal1 james007 james1 james11 james12 james123 james2 james23 james3 jamesbond jamesbond007
        jamie1 jamie123 jamila jamjam janelle janet1 janette janice janice1 janina janine janjan jansen january january1
        jared1 jasmin jasmin1 jasmine jasmine1 jasmine12 jasmine123 jasmine2 jasmine3 jason1 jason12 jason123 jasper
        jasper1 javier javier1 jay123 jayden jayden1 jayjay jayjay1 jayson jazmin jazmin1 jazmine jazmine1 jazzy1
        jeanette jeanne jeff24 jefferson jefferson1 jeffery jeffery1 jeffhardy jeffhardy1 jeffrey jeffrey1 jehova
        jehovah jehovah1 jelly1 jellybean jellybean1 jenifer jenjen jenna1 jennie jennifer jennifer1 jennifer12 jenny1
        jenny123 jensen jeremiah jeremiah1 jeremy jeremy1 jericho jermaine jermaine1 jerome jerome1 jerry1 jersey
        jersey1 jerusalem jess123 jesse1 jesse123 jessica jessica1 jessica12 jessica123 jessica13 jessica2 jessica3
        jessica7 jessie jessie1 jester jesucristo jesus! jesus01 jesus1 jesus10 jesus11 jesus12 jesus123 jesus2 jesus3
        jesus33 jesus4me jesus7 jesus77 jesus777 jesusc jesuschris jesuschrist jesusfreak jesusis1 jesusislord jesuss
        jesussaves jetaime jeter2 jethro jewels jfgvcqbuzug jg3h4hfn ji394su3 jillian jillian1 jimbob jimenez jimmy1
        jimmy123 jingjing jjcg16dj5k jjjjjj jktxrf jktymrf joanna joanna1 joanne joanne1 joaquin jobsearch jobshop2002
        jocelyn jocelyn1 joe123 joejoe joejoe1 joejonas joejonas1 joelle joey123 johann johanna johanna1 johannes
        john!20130605at1753 john12 john123 john1234 john316 johncena johncena1 johndeere johndeere1 johnjohn johnlock
        johnny johnny1 johnny5 johnpaul johnson johnson1 jojo12 jojo123 jojojo joker1 joker123 joker13 jokers jonas1
        jonas123 jonathan jonathan1 jones1 jonjon jonjon1 jonny1 jordan jordan01 jordan1 jordan10 jordan11 jordan12
        jordan123 jordan13 jordan2 jordan22 jordan23 jordan3 jordan5 jordan7 jordyn jorge1 jose12 jose123 jose13
        josefina joseluis joseph joseph1 joseph12 joseph123 josephine josephine1 josh12 josh123 joshua joshua01 joshua1
        joshua11 joshua12 joshua123 joshua2 josiah josie1 journey journey1 joyjoy jrcfyf juan123 juancarlos juanita
        juanita1 juanito jubjub judith juggalo juggalo1 juicy1 julia1 julia123 julian julian1 juliana julie1 julien
        juliet julieta juliette julius july10 july12 july14 july15 july21 july22 july23 jumper jumpman23 jundian2011xr
        june10 june11 june12 june13 june14 june15 june16 june17 june18 june19 june20 june21 june22 june23 june24 june25
        june26 june27 june28 june30 junebug junebug1 jungle junior junior1 junior12 junior123 junior2 junjun jupiter
        jupiter1 just4fun just4me justdoit justice justice1 justin justin01 justin1 justin11 justin12 justin123 justin13
        justin2 justinbieb justinbieber justine justine1 justme justme1 juventus juventus1 k.lvbkf k12345 k123456
        k123456789 ka_djkhjsy6 kacper kagome kaiser kaitlin kaitlyn kaitlyn1 kaka123 kaka22 kakaka kakashi kakashi1
        kakashka kaktus kalina kalpana kamasutra kamikaze kamila kangaroo kannan kansas karachi karaoke karate karate1
        karen1 karen123 karina karina1 karine karma1 karolina karthik kashmir kasia1 kasper kassandra katana katarina
        katelyn katelyn1 katerina katherine katherine1 kathleen kathleen1 kathmandu kathryn kathryn1 kathy1 katie1
        katie123 katkat katrin katrina katrina1 kavita kawaii kawasaki kawasaki1 kaykay kaykay1 kayla1 kayla123 kaylee
        kaylee1 kayleigh kayleigh1 kayode keegan keeper keisha keith1 kelley kellie kelly1 kelly123 kelsey kelsey1
        kelvin kendall kendall1 kendra kendra1 kenken kennedy kennedy1 kenneth kenneth1 kennwort kenny1 kenshin kentucky
        kentucky1 kenwood kenworth kenzie kenzie1 kermit kevin1 kevin12 kevin123 keyboard keyboard1 keystone kfhbcf
        khadija khalid khalil khushi kickass kickass1 kicker kieran kifj9n7bfu kikeunyw kiki123 kikiki killa1 killbill
        killer killer1 killer11 killer12 killer123 killer13 killer2 killer5 killer666 killer69 killer7 killers killers1
        killian killme killme1 kim123 kimberley kimberly kimberly1 kimbum kimkim kimmie kimmy1 kinder king12 king123
        king1234 king23 kingdom kingdom1 kingfisher kingking kingkong kingkong1 kingpin kings1 kingsley kingston kipper
        kirby1 kirill kirsten kirsten1 kirsty kiss123 kisses kisses1 kisskiss kissme kissme1 kissme123 kissme2 kissmyass
        kissmyass1 kitkat kitkat1 kitten kitten1 kittens kittens1 kittie kitty1 kitty12 kitty123 kitty2 kittycat
        kittycat1 kittykat kittykat1 kjkszpj kkk123 kkkkkk kkkkkkk kkkkkkkk klapaucius klaster klaudia kleopatra knicks
        knight knight1 knights knights1 knopka knowledge kobe24 kobebryant kochanie kodiak kokoko kolawole kolobok
        komputer konstantin kontakt kontol kool123 koolaid koolaid1 koroleva kosama koshka kosmos kosova kostya kotenok
        kramer krasotka krishna krishna1 krissy krista kristen kristen1 kristi kristian kristin kristin1 kristina
        kristina1 kristine kristy krokodil kronos krystal krystal1 ktyjxrf kucing kungfu kyle123 kylie1 l12345 l123456
        l1nk3d1n l6ho3tg7wb labrador labtec lacey1 lacoste lacrosse lacrosse1 ladies ladybird ladybug ladybug1 ladygaga
        laetitia laguna laguna1 lahore lakers lakers1 lakers24 lakers8 lakshmi lala12 lala123 lalala lalala1 lalala123
        lalalala lalaland lambert lamborghini lamont lamont1 lampard lampard8 lance1 lancelot lancer landon landon1
        landrover laptop laptop1 larisa larissa larry1 lassie last.fm lastfm lasvegas lasvegas1 latina latina1 latino
        latino1 laura1 laura123 laurel lauren lauren1 lauren12 laurence laurent laurie laurita lavender lavoro lawrence
        lawrence1 lawyer layla1 layout1 layouts1 leader leandro leanne leather leavemealone lebron lebron23 lee123
        leelee leelee1 left4dead legacy legend legend1 legenda legion legolas legolas1 lemon1 lemon8 lemonade lemons
        lennon lenochka lenovo leo123 leoleo leonard leonard1 leonardo leonardo1 leonid leonie leopard lesbian lesbian1
        lesley leslie leslie1 lespaul lespaul1 lestat lester leticia letmein letmein1 letmein123 letmein2 letter lewis1
        lexmark lexmark1 lexor123 libby1 libero libertad liberte liberty liberty1 library lickme lifeisgood lifesucks
        lifesucks1 light1 lighthouse lightning lightning1 lights lilian liliana lillian lillian1 lillie lilly1 lilmama
        lilmama1 lilman lilman1 lilwayne lilwayne1 limpbizkit lincoln lincoln1 linda1 linda123 lindsay lindsay1 lindsey
        lindsey1 lineage2 lingling linked linkedin linkedin1 linkedin123 linkedin2011 linkin linkin1 linkinpark lionel
        lionheart lionking lipgloss lipgloss1 lipstick lisa123 lisalisa little little1 littlebit littlebit1 littleman
        littleman1 livelife liverp00l liverpool liverpool1 liverpool8 liverpool9 liverpoolfc livestrong lizard lizard1
        lizottes lizzie lizzie1 lizzy1 lkjhgf lkjhgfdsa llllll lobster lobster1 loco13 logan1 logan123 logitech
        logitech1 lokomotiv lol101 lol123 lol1234 lol12345 lola123 lolalola lolipop lolipop1 lolita lolita1 lollipop
        lollipop1 lollol lollol1 lollollol lollypop lollypop1 lolo123 lololo london london1 london12 london123 london22
        lonely lonely1 lonestar lonewolf longhorn longhorn1 longhorns longhorns1 looking looking1 looser lopez1 loredana
        lorena lorena1 lorenzo lorenzo1 loretta lorraine lorraine1 losangeles loser1 loser12 loser123 loser2 loser5
        losers losers1 lottie louie1 louis1 louisa louise louise1 loulou loulou1 louloute lourdes love00 love01 love02
        love05 love06 love07 love08 love09 love10 love100 love101 love11 love12 love123 love1234 love12345 love123456
        love13 love14 love143 love15 love16 love17 love18 love19 love20 love2008 love2009 love2010 love21 love22 love23
        love24 love25 love26 love27 love28 love2love love33 love34 love44 love45 love4ever love4life love4me love4u
        love4you love55 love5683 love69 love77 love777 love88 love89 love92 love99 loveable lovebird lovebug lovebug1
        loved1 lovegod lovehate lovehate1 lovehurts lovehurts1 loveis loveislife loveless loveless1 lovelife lovelife1
        lovelove lovelove1 lovely lovely1 lovely12 lovely123 lovely2 loveme loveme! loveme1 loveme12 loveme123 loveme2
        loveme3 lover1 lover101 lover12 lover123 lover13 lover2 lover69 loverboy loverboy1 lovergirl lovergirl1 lovers
        lovers1 lovers2 loves1 lovestory lovesucks lovesucks1 loveu1 loveu2 loveya loveya1 loveyou loveyou1 loveyou12
        loveyou123 loveyou2 loving loving1 lovingyou lowrider lowrider1 ltybcrf lucas1 lucas123 lucero luciana luciano
        lucifer lucifer666 lucille lucky1 lucky12 lucky123 lucky13 lucky2 lucky3 lucky7 lucky777 luckydog luckydog1
        luckyme lucy123 ludacris ludmila ludovic ludwig luis123 lukasz lunita lupita lupita1 luther lvbnhbq m0nkey
        m12345 m123456 m1234567 m123456789 m1chp00h mac123 macarena machine maciek mackenzie mackenzie1 macmac
        madagascar madagaskar madalina madden madden1 maddie maddie1 maddison maddog maddog1 maddy1 madeleine madeline
        madeline1 madina madison madison1 madison2 madman madmax madness madonna madonna1 madrid maestro mafalda mafia1
        magali maganda magandaako magdalena maggie maggie01 maggie1 maggie11 maggie12 maggie123 maggie2 maggot magic1
        magic123 magnet magnolia magnolia1 magnum magnus magpie mahalkita mahalkita1 mahalko mahesh maiden maimai maison
        maiyeuem majestic makaveli makaveli1 makayla makayla1 makemoney maksim maksimka malachi malachi1 malaga malaysia
        malboro malcolm malcolm1 maldita malena malibu malibu1 malik1 malika malina malinka mallorca mallory mallory1
        mama12 mama123 mama1234 mamacita mamama mamamama mamamia mamapapa mamasita mamita mammamia mamochka mamour
        man123 management manager manager1 manchester mancity mandarin mandy1 mango1 manhattan maniac manila manish
        manisha mankind manman manman1 manning18 manny1 manolo manowar manson manson1 manuel manuel1 manuela manunited
        manutd manutd1 manzana maprchem56458 mar123 maradona maradona10 marathon marcel marcela marcella marcello
        marcelo march1 march10 march11 march12 march13 march14 march15 march17 march18 march21 march22 march23 march24
        march25 marcia marcin marco1 marcopolo marcos marcos1 marcus marcus1 margaret margaret1 margarida margarita
        margarita1 margaux margherita margie margot maria1 maria12 maria123 mariah mariah1 mariajose mariam marian
        mariana mariana1 marianna marianne mariano maribel maricel marie1 marie12 marie123 marie2 mariel mariela
        marihuana marija marijuana marijuana1 marika marilyn marilyn1 marina marina1 marine marine1 marines marines1
        marino marino13 mario1 mario123 marion mariposa mariposa1 marisa marisol marissa marissa1 marius mariya marjorie
        mark123 market marketing markus marlboro marlboro1 marlene marlene1 marley marley1 marlin marlon maroon5
        marriage married married1 marseille marseille13 marshall marshall1 martha martha1 martin martin1 martin123
        martina martina1 martine martinez martinez1 martini martins marvel marvin marvin1 mary123 maryam maryann
        maryjane maryjane1 maryjane42 maryland mash4077 mason1 massage massimo master master1 master11 master12
        master123 master2 mastermind masters matador matahari matematica mateusz matheus mathew mathew1 mathias mathieu
        mathilde mathis matias matilda matilda1 matilde matrix matrix1 matt12 matt123 matteo matthew matthew1 matthew12
        matthew123 matthew2 matthew3 matthias matthieu mattia mattie mattie1 maureen maurice maurice1 mauricio maurizio
        maverick maverick1 max123 maxima maxime maximilian maximo maximum maximus maximus1 maxine maxine1 maxmax maxwell
        maxwell1 mayday maymay maynard mazafaka mazda3 mazda323 mazda6 mazda626 mazdarx7 mazdarx8 mckenzie mckenzie1
        mclaren me1234 meagan meandyou meatball meatloaf mechanical medical medicina medicine medina medion medusa
        medved mega_pizdetz666 megadeth megaman megaman1 megan1 megan123 megane megaparol megaparol12345 megasecret
        megatron meghan meghan1 mehmet melanie melanie1 melina melinda melinda1 melisa melissa melissa1 mellon melo15
        melody melody1 melvin melvin1 member meme123 mememe mememe1 memorex memories memory memphis memphis1 mendoza
        meowmeow mercedes mercedes1 mercury mercury1 meredith merlin merlin1 mermaid mermaid1 mersedes messenger messi10
        messiah metal1 metal666 metallica metallica1 mexican mexican1 mexican13 mexico mexico1 mexico10 mexico12
        mexico123 mexico13 mexico2 mia123 miami1 miami305 miamor miamor1 micaela michael michael01 michael1 michael11
        michael12 michael123 michael13 michael2 michael23 michael3 michael5 michael7 michaela michal micheal micheal1
        michel michela michele michele1 michelle michelle1 michelle12 michelle2 michigan michigan1 mickey mickey1
        mickey12 mickey123 mickey2 mickeymouse microlab microsoft microsoft1 midget midnight midnight1 mierda mighty
        miguel miguel1 miguelito mihaela mihail mikael mikaela mikayla mikayla1 mike11 mike12 mike123 mike1234 mike23
        mikejones1 mikemike mikey1 milagros milana milano mildred milena miley1 mileycyrus military milkshake milkshake1
        milkyway millenium miller miller1 millie millie1 million million1 million2 millions millwall milton mimi123
        mimimi mimosa minecraft minerva minette minicooper minime minnesota minnie minnie1 minouche miracle miracle1
        mirage miranda miranda1 miriam mirror misfits mishka misiek mission mission1 mississipp mississippi missy1
        missy123 missyou mister misty1 misty123 mitch1 mitchell mitchell1 mitsubishi mittens mittens1 mmmmmm mmmmmmmm
        mmmmmmmmmm mnbvcx mnbvcxz mnbvcxz1 mobile mobster1 mocha1 mohamed mohammad mohammed moimeme moimoi moises mollie
        mollie1 molly1 molly123 mollydog moloko molson mom123 momanddad momanddad1 momdad momdad1 momma1 mommy1 mommy11
        mommy12 mommy123 mommy2 mommy3 momof2 momof3 momomo momoney momoney1 monaco monalisa monamour monday monday1
        mondeo money$ money09 money1 money10 money100 money101 money11 money12 money123 money13 money2 money22 money23
        money3 money4 money4me money5 money6 money7 moneymaker moneyman moneyman1 moneymoney moneys mongoose monica
        monica1 monika monika1 monique monique1 monitor monkey monkey! monkey01 monkey1 monkey10 monkey101 monkey11
        monkey12 monkey123 monkey13 monkey14 monkey2 monkey21 monkey22 monkey23 monkey3 monkey4 monkey5 monkey6 monkey69
        monkey7 monkey8 monkey9 monkeyboy monkeybutt monkeyman monkeyman1 monkeys monkeys1 monopoly monroe monster
        monster1 monster12 monster123 monster2 monsters montana montana1 montecarlo montgom2409 montreal monty1 moocow
        moocow1 mookie mookie1 moomoo moomoo1 moonbeam moonlight moonlight1 moonshine moose1 morales moremoney morena
        moreno morgan morgan1 morgan12 morgana morgane moritz morning morning21 morpheus morris morris1 morrison moscow
        moskva mostwanted motdepasse mother mother1 mother12 mother123 mother2 motherfuck motherfucker motherlode
        motocross motocross1 motorola motorola1 mountain mountain1 mouse1 movies mozart mrf11277215 ms0083jxj mudvayne
        muffin muffin1 muhammad muhammed mulder multimedia multiplelog mumbai mummy1 munchkin munchkin1 muppet
        murcielago murder murder1 murphy murphy1 murray mushroom mushroom1 music1 music101 music12 music123 music2
        music4life musica musica1 musical musicman musicman1 musique muskan muslim mustafa mustang mustang1 mustang2
        mustang69 mustangs my1love my2boys my2girls my2kids my3boys my3girls my3kids my3sons my4kids myangel mybaby
        mybaby1 myboys myfamily mygirl mygirls mygirls2 myheart mykids mykids2 mykids3 mylene mylife mylife1 mylinkedin
        mylord mylove mylove1 mylove12 mylove123 mylove2 mymother mymusic myname myname1 mynameis mynoob mypass
        mypassword myself myself1 myspac3 myspace myspace! myspace. myspace.co myspace0 myspace01 myspace07 myspace08
        myspace09 myspace1 myspace10 myspace101 myspace11 myspace12 myspace123 myspace13 myspace14 myspace2 myspace200
        myspace21 myspace22 myspace23 myspace3 myspace4 myspace5 myspace6 myspace69 myspace7 myspace8 myspace9 mystery
        mystery1 mystic n0=acc3ss n12345 n123456 n1frdz n8zgt5p0shw= nabila nacional nadine namaste nana12 nana123
        nanana nancy1 napoleon napoli narayana narnia naruto naruto1 naruto11 naruto12 naruto123 naruto13 naruto2 nascar
        nascar1 nascar24 nascar88 nastena nastia nasty1 nastya natacha natali natalia natalia1 natalie natalie1 natalka
        nataly natalya natasha natasha1 nathalie nathan nathan1 nathan12 nathan123 nathaniel nathaniel1 national natural
        nature naughty naughty1 naveen navigator naynay1 ncc1701 ncc1701a ncc1701d ncc1701e ne1469 nebraska neelam
        negrita nellie nelly1 nelson nelson1 nemesis nemesis1 neopets12 neptune nestor netlog network network1
        networking nevada nevaeh nevaeh1 never1 neveragain nevermind nevermore newcastle newcastle1 newjob newlife
        newlife1 newman newmoon newpass newpassword newport newport1 newstart newton newyork newyork1 newyork2 nextel1
        nfnmzyf nfytxrf nguyen nicholas nicholas1 nichole nichole1 nick12 nick123 nickjonas nickjonas1 nicky1 nicola
        nicolas nicolas1 nicole nicole01 nicole1 nicole10 nicole11 nicole12 nicole123 nicole13 nicole14 nicole2 nicole21
        nicole22 nicole23 nicole27 nicole3 nicole7 nigeria nigga1 nigga123 nigger nigger1 nigger123 nightmare nightmare1
        nightwish nike123 nikhil nikita nikita1 nikitos nikki1 nikki123 niklas nikola nikolai nikolas nikolay nimrod
        ninja1 ninja123 nintendo nintendo1 nintendo64 nipper nirvana nirvana1 nissan nissan1 nissan350z nitram
        nks230kjs82 nnnnnn nobody noelle nofear noisette nokia1 nokia123 nokia3310 nokia5300 nokia5800 nokia6233
        nokia6300 nokian70 nokian73 nokian95 nolimit nolove nomore noname nonmember nonono noodle noodle1 noodles
        noodles1 nookie nopass nopassword norbert norman norman1 norte14 northside1 norton not4you notebook nothing
        nothing1 notredame notthat nounou nounours november november1 november11 november19 novembre nssadmin ntktajy
        nugget nugget1 numba1 number number1 number11 number12 number2 number3 number5 number7 number9 numero1 nurse1
        nursing nursing1 nutella nutmeg nuttertools nwo4life nyq28giz1z o123456 oakland oakland1 oakley obiwan oblivion
        oblivion1 ocean1 oceane oceans11 ocpoook325 october october1 october10 october13 october31 odessa office
        offspring ohiostate1 ohmnamah23 ohmygod ohyeah oicu812 oklahoma oklahoma1 okokok oksana oktober olamide olawale
        olayinka oldman olenka olesya oliveira oliver oliver1 oliver12 oliver123 olivia olivia1 olivier olumide
        oluwaseun omarion omarion1 omega1 omg123 omg199 omsairam one2three onedirection onelove onelove1 onepiece
        onetwo3 online online1 onlyme ontario oooooo opelastra open123 opensesame openup operation operator opeyemi
        optimus oracle orange orange1 orange11 orange12 orange123 orange2 oranges oranges1 orchid ordinateur oregon
        oreo123 original orlando orlando1 oscar1 oscar123 osiris ou29q6666 outlaw outlaw1 overlord owt243ygbj oxford
        p0o9i8u7 p12345 p123456 p3rat54797 p455w0rd p4ssw0rd p@ssw0rd p@ssword pa55w0rd pa55word pablito pablo1 pacific
        packard packers packers1 packers4 pacman pacman1 paddle paige1 paintball paintball1 painter pakistan pakistan1
        pakistan123 pakistani palace paladin palermo pallina pallmall palmer palmtree paloma pamela pamela1 panama
        panasonic panasonic1 pancake pancakes pancho pancho1 panda1 panda123 pandas pandora pandora1 panget pangit
        panic! pankaj pantera pantera1 panther panther1 panthers panthers1 panties panzer papamama papapa paper1
        paper123 paperino papillon papito paradise paradise1 paradox paramore paramore1 paris1 parker parker1 parkour
        parola parola12 parrot partizan party1 pasaway pascal pasquale pass12 pass123 pass1234 pass1word passat
        passer2009 passer2011 passion passion1 passpass passport passport1 passw0rd passwd password password! password.
        password0 password00 password01 password07 password08 password09 password1 password10 password11 password12
        password123 password1234 password12345 password13 password14 password15 password16 password17 password18
        password19 password2 password20 password21 password22 password23 password24 password3 password33 password4
        password5 password6 password69 password7 password77 password8 password88 password9 password99 passwords passwort
        passwort1 pastor pasword pasword1 patata patate patches patches1 pathfinder patience patito patrice patricia
        patricia1 patrick patrick1 patrick2 patrik patriot patriots patriots1 patriots12 patrizia patton patty1 paul123
        paula1 paulina pauline pauline1 pavilion pavilion1 payton payton1 pazzword123 pdtplf pe#5gz29ptzmse peace1
        peace123 peaceout peaches peaches1 peaches2 peachy peacock peanut peanut1 peanut12 peanut123 peanut2
        peanutbutter peanuts peanuts1 pearl1 pearljam pebbles pebbles1 pedro1 pedro123 peekaboo peewee peewee1 pegasus
        peluche pelusa pencil pencil1 penelope penelope1 penguin penguin1 penguins penis1 penis123 penis69 penny1
        pentium pentium4 people people1 pepette pepita pepito pepper pepper01 pepper1 pepper12 pepper123 pepper2 pepsi1
        pepsi123 pepsicola perfect perfect1 persik person personal peter1 peter123 peterpan peterpan1 peters peterson
        petrov petunia peugeot peyton peyton1 phantom phantom1 pharmacy philip philip1 philippe philips philips1
        phillies phillip phillip1 phillips philly philly1 phoebe phoebe1 phoenix phoenix1 phone1 photo1 photos physics
        piazza picard picasso piccolo pickle pickle1 pickles pickles1 picture pictures pie123 pierre pierre1 pietro
        piggy1 piglet piglet1 pikachu pikachu1 pillow pimp101 pimp11 pimp12 pimp123 pimp13 pimp23 pimp69 pimpdaddy1
        pimpin pimpin1 pimpin2 pimpin69 pimping1 pineapple pineapple1 pingpong pink10 pink101 pink11 pink12 pink123
        pink1234 pink13 pink22 pinkfloyd pinkfloyd1 pinkie pinky1 pinky123 piolin pioneer pioneer1 piper1 pippin
        piramida pirata pirate pirate1 pirates pirates1 pisces pissoff pistons1 pitbull pitbull1 pizza1 pizza123 pizzas
        pk3x7w9w placebo planet plastic platinum platinum1 playa1 playboy playboy1 playboy123 playboy69 player player1
        player12 player2 player69 playgirl playstation playstation3 please please1 pleasure plymouth pobeda poetry
        pogiako poipoi poison poisson poiuyt poiuytrewq pok29q6666 pokemon pokemon1 pokemon11 pokemon12 pokemon123
        pokemon2 poker1 pokerface poland polarbear polaris polaris1 police police1 polina pollito polniypizdec0211
        polniypizdec1102 polniypizdec110211 polopolo polpol polska polska1 pompier pompom poncho pontiac pontiac1
        poochie poochie1 poodle pooh12 pooh123 poohbear poohbear1 poohbear12 pookie pookie1 poonam poop11 poop12 poop123
        poop1234 pooper pooper1 poopie poopie1 poopoo poopoo1 pooppoop poopy1 pop123 popcorn popcorn1 popcorn2 popeye
        popeye1 popo123 popopo poppop poppop1 poppy1 poppy123 poptart poptart1 porcodio porkchop porkchop1 pornstar
        pornstar1 porsche porsche1 porsche911 porter portland portugal portugal1 poseidon positive possum postal pot420
        potato pothead pothead1 pothead420 potpot potter potter1 poussin powder powell power1 power123 powerful powers
        pppppp pr1ncess pradeep praise prakash prasad prashant praveen prayer preciosa precious precious1 predator
        prelude premier presario president presley preston preston1 pretty pretty1 pretty12 pretty123 pretty2 prettyboy1
        prettygirl primavera prince prince1 prince123 princes princesa princesa1 princesita princess princess!
        princess01 princess08 princess09 princess1 princess10 princess11 princess12 princess13 princess14 princess15
        princess16 princess19 princess2 princess21 princess22 princess23 princess3 princess4 princess5 princess7
        princess8 princess9 princesse princeton principe principessa pringles printer printer1 priscilla priscilla1
        prissy prissy1 private private1 privet priyanka prodigy professional professor progress project project1
        projectsadminx promise promise1 psalm23 psycho psycho1 puddin pudding pudding1 puertorico pulsar pumpkin
        pumpkin1 punisher punkin punkin1 punkrock punkrock1 puppies puppies1 puppy1 puppy123 puppydog puppylove
        puppylove1 pupsik pupuce purple purple! purple1 purple11 purple12 purple123 purple13 purple2 purple22 purple3
        purple5 purple7 pussy1 pussy12 pussy123 pussy2 pussy69 pussycat pussycat1 pwd1234 pyramid q11111 q111111 q12345
        q123456 q1234567 q123456789 q1q1q1 q1q1q1q1 q1q2q3 q1w2e3 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 q2w3e4 q2w3e4r5
        qarglr123 qawsed qawsedrf qaz123 qaz12345 qaz123456 qaz123wsx qazqaz qazqaz1 qazqazqaz qazwsx qazwsx1 qazwsx12
        qazwsx123 qazwsxed qazwsxedc qazwsxedc1 qazwsxedc123 qazwsxedcrfv qazxcv qazxsw qazxsw1 qazxsw123 qazxswedc
        qazzaq qazzaq1 qdujvyg5sxa qq123456 qqq111 qqq123 qqqq1111 qqqqq1 qqqqqq qqqqqq1 qqqqqqq qqqqqqqq qqqqqqqqqq
        qqqwww qqww1122 qqwwee qti7zxh18u quality quantum queen1 queenie queens quentin question quincy quincy1 qw123321
        qw123456 qwaszx qwaszx1 qwaszx12 qwe1122334 qwe123 qwe1234 qwe12345 qwe123456 qwe123asd qwe123qwe qwe1asd qwe321
        qwe789 qweasd qweasd1 qweasd123 qweasdzxc qweasdzxc1 qweasdzxc123 qwedsa qwedsazxc qweewq qwegta13091990 qweqwe
        qweqwe1 qweqwe123 qweqweqwe qwer12 qwer123 qwer1234 qwer4321 qwerasdf qwerasdfzxcv qwerf12 qwerqwer qwerqwer2
        qwert1 qwert12 qwert123 qwert1234 qwert12345 qwert6 qwertasdfg qwerty qwerty! qwerty. qwerty0 qwerty01 qwerty1
        qwerty11 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwerty13 qwerty2 qwerty21 qwerty22 qwerty23
        qwerty3 qwerty321 qwerty5 qwerty6 qwerty666 qwerty69 qwerty7 qwerty77 qwerty777 qwerty78 qwerty789 qwerty99
        qwertyqwerty qwertyu qwertyu1 qwertyui qwertyui1 qwertyuio qwertyuio1 qwertyuiop qwertyuiop1 qwertyuiop123
        qwertyuiop[] qwertz qwertzuiop qwqwqw r12345 r123456 r1cd38d r2d2c3po r9lw4j8khx rabbit rabbit1 rabota racecar
        racecar1 rachael rachael1 rachel rachel1 rachelle racing racing1 radhika radio1 radiohead radiohead1 rafael
        rafael1 raffaele ragnarok rahasia rahman raider raider1 raiders raiders1 raiders13 raiderz1 rainbow rainbow1
        rainbow123 rainbow2 rainbow6 rainbow7 rainbows rajesh rajkumar rakesh ralph1 rambler rambo1 ramesh ramirez
        rammstein rammstein1 ramona ramones ramones1 ramram ramses rancid randall random random1 randy1 ranetki ranger
        ranger1 rangers rangers1 raphael raptor raquel rascal rascal1 rasengan rashmi rasmus rasputin rastafari rastaman
        raven1 ravens ravens1 rawr123 ray123 raymond raymond1 rayray rayray1 razvan rbhbkk rctybz rdfhnbhf reading
        ready2go reagan reality really realmadrid reaper reaper1 rebeca rebecca rebecca1 rebel1 rebelde rebelde1 rebels
        rebound1 recovery red123 red1234 red12345 redalert redbull redbull1 reddevil reddog reddog1 reddragon redhead
        redhead1 redhot redman redman1 redneck redneck1 redred redred1 redrose redroses redrum redrum1 redskins
        redskins1 redsox redsox04 redsox1 redwings redwings1 reebok reggae reggie reggie1 regina regina1 regine register
        remember remember1 remington remote renata renato renault renee1 renegade rental rereirf research reset123
        resident respect respect1 restart retard retard1 retired revelation revenge revenge1 revolution rey619 rfhbyf
        rfn.if rfnthbyf rfrfirf rfrnec rhbcnbyf rhfcjnrf rhiannon rhjrjlbk rhonda ricardo ricardo1 riccardo richard
        richard1 richie richie1 richmond richmond1 ricky1 rihanna riley1 ripper river1 rivera riverside rjhjktdf rjntyjr
        rjycnfynby rjynfrn roadrunner robbie robbie1 robert robert01 robert1 robert12 robert123 robert2 roberta roberto
        roberto1 roberts robin1 robinhood robinson robinson1 rochelle rochelle1 rock12 rock123 rocker rocker1 rocket
        rocket1 rockets rockets1 rocknroll rocknroll1 rockon rockon1 rockstar rockstar1 rockstar12 rocky1 rocky123
        rocky2 rockyou rodney rodney1 rodolfo rodrigo rodriguez rodriguez1 roger1 rogers roland rolando roller rolltide
        rolltide1 romain roman1 romance romance1 romania romano romashka romeo1 romero romina rommel ronald ronald1
        ronaldinho ronaldo ronaldo1 ronaldo7 ronaldo9 ronnie ronnie1 rookie rooney rooney10 rooster rooster1 rootbeer
        rootbeer1 rosalie rosario roscoe roscoe1 rose12 rose123 rosebud rosebud1 rosemarie rosemary rosemary1 rosie1
        rosita rossella rossi46 roswell route66 rovers rowena roxana roxane roxanne roxanne1 roxy123 rrrrrr rtyuehe
        rufus1 runescape runescape1 runner runner1 running running1 rupert rush2112 ruslan russel russell russell1
        russia rustam rusty1 ryan12 ryan123 s12345 s123456 s1234567 s123456789 s8ylpe9jdpvym sabbath sabina sabine
        sabrina sabrina1 sachin sacred sadie1 sadie123 safari safety sagitario sagitarius sahara saibaba sailboat
        sailing sailor sailormoon saints saints1 sairam sakura sakura1 salazar sally1 salman salmon salome salomon
        salope salvador salvador1 salvation salvatore sam123 sam12345 samanta samantha samantha1 samantha12 samara
        sameer samiam samira sammie sammie1 sammy1 sammy12 sammy123 sammy2 sample123 sampson sampson1 samsam samsara
        samson samson1 samsung samsung1 samsung123 samtron samuel samuel01 samuel1 samurai samurai1 sanandreas sanane
        sanchez sanchez1 sandeep sander sanders sandhya sandiego sandiego1 sandman sandman1 sandra sandra1 sandrine
        sandro sandy1 sandy123 sangeeta sanjay sanjose santa1 santana santana1 santiago santiago1 santino santos santos1
        santosh sapphire sapphire1 sara123 sarah1 sarah123 sarajevo sarita sasasa sascha sasha1 sasha12 sasha123 saskia
        sassy1 sassy123 sasuke sasuke1 sasuke12 sasuke123 satan666 satana satellite satish saturday saturn saturn1
        sausage savage savage1 savanna savannah savannah1 savior saxophone sayang sayang1 sayangku scania scarface
        scarface1 scarlet scarlet1 scarlett scarlett1 schalke schalke04 schatz schatzi school school1 school12 school123
        school2 science science1 scooby scooby1 scooby2 scoobydoo scoobydoo1 scooter scooter1 scooter2 scorpio scorpio1
        scorpion scorpion1 scorpions scotland scotland1 scott1 scottie scotty scotty1 scout1 scrappy scrappy1 scream
        scream1 scruffy scruffy1 scully scvmofas79 sdfsdf seagull seamus search season seattle seattle1 sebastian
        sebastian1 sebastien secret secret1 secret123 secret666 secrets secure security security1 seeker select selena
        selena1 selina semperfi semperfi1 senegal senha123 senior senior07 senior08 senior09 seniseviyorum sentnece
        sephiroth september september1 september2 september9 septiembre serega serena serena1 serendipity serenity
        serenity1 sergei sergey sergio sergio1 server service service1 sesame seven11 seven7 seven77 seven777 seventeen
        severine sevilla sex123 sexsex sexsex1 sexsexsex sextrime1 sexual sexxxy sexy01 sexy07 sexy08 sexy09 sexy10
        sexy101 sexy11 sexy12 sexy123 sexy1234 sexy13 sexy14 sexy15 sexy16 sexy17 sexy18 sexy21 sexy22 sexy23 sexy69
        sexybabe sexybabe1 sexybaby sexybaby1 sexyback1 sexybeast1 sexybitch sexybitch1 sexyboy sexyboy1 sexygirl
        sexygirl1 sexygurl1 sexylady sexylady1 sexylove1 sexymama sexymama1 sexyman sexyman1 sexyme sexyme1 sexysexy
        sf49ers shadow shadow01 shadow1 shadow11 shadow12 shadow123 shadow13 shadow2 shadow7 shadows shady1 shaggy
        shaggy1 shakira shakira1 shalini shalom shaman shamrock shamrock1 shane1 shanghai shania shankar shanna shannon
        shannon1 shanti shaolin sharingan sharks sharma sharon sharon1 sharpie1 shasha shasta shawn1 shawty1 sheba1
        sheeba sheena sheena1 sheila sheila1 shelby shelby1 sheldon shelley shelly shelly1 sherlock sherman sherman1
        sherry sherry1 sherwood shibby shiloh shiloh1 shilpa shinigami shirley shirley1 shit123 shitface shitface1
        shithead shithead1 shitty shitty1 shivani shmily shogun shooter shooter1 shopping shopping1 shorty shorty1
        shorty12 shorty123 shorty13 shorty2 shotgun shotgun1 showtime shutup shutup1 shweta sidekick3 sidney sidney1
        siemens sierra sierra1 silence silent silly1 silvana silver silver1 silverado silvia simba1 simba123 simon1
        simon123 simona simone simone1 simple simple1 simpleplan simpson simpson1 simpsons simpsons1 simran simsim
        sinaloa1 sinbad singapore singer singer1 single single1 sinner sirius sissy1 sister sister1 sisters sixteen
        sk84life sk8board sk8ordie sk8ter skate1 skate123 skate4life skateboard skater skater1 skater12 skater123
        skater2 skeeter skeeter1 skiffy skiing skinhead skinny skinny1 skipper skipper1 skippy skippy1 skittles
        skittles1 skolko skorpion sky123 skyblue skyhawk skylar skylar1 skyler skyler1 skyline skyline1 skywalker
        skywalker1 slamdunk slavik slayer slayer1 slayer666 sleepy sleepy1 slick1 slimshady slimshady1 slipknot
        slipknot1 slipknot6 slipknot66 slipknot666 smackdown smackdown1 smallville smart1 smarty smelly smelly1 smile1
        smile123 smile4me smiles smiles1 smiley smiley1 smirnoff smith1 smitty smitty1 smoke1 smoke420 smoker smokey
        smokey1 smokey12 smokie smoking smooth smooth1 smudge snake1 snakes snapper snapple snatch sneakers sneaky1
        snickers snickers1 sniper sniper1 snooker snoop1 snoopdog snoopdogg snoopy snoopy1 snoopy123 snoopy2 snowball
        snowball1 snowboard snowboard1 snowflake snowflake1 snowman snowman1 snowwhite snuggles snuggles1 sobaka soccer
        soccer! soccer01 soccer07 soccer08 soccer09 soccer1 soccer10 soccer101 soccer11 soccer12 soccer123 soccer13
        soccer14 soccer15 soccer16 soccer17 soccer18 soccer19 soccer2 soccer20 soccer21 soccer22 soccer23 soccer24
        soccer3 soccer4 soccer5 soccer6 soccer7 soccer8 soccer9 soccer99 socrates sofia1 softball softball1 softball10
        softball11 softball12 softball13 softball2 softball3 softball7 software sojdlg123aljg solange soldier soldier1
        soledad soleil solnce solomon solomon1 solrac solution someone something something1 sommer sonali sonia1 sonic1
        sonic123 sonnenschein sonny1 sonyericsson sooners sooners1 sophia sophia1 sophie sophie1 sophie123 soprano
        souljaboy1 soulmate souris sousou south1 south13 southern southpark southpark1 southside southside1 space1
        spanish spanish1 spanky spanky1 sparkle sparkle1 sparkles sparks sparky sparky1 sparrow sparta spartak spartan
        spartan1 spartan117 spartans speaker special special1 spectrum speed1 speedy speedy1 spencer spencer1 spider
        spider1 spiderman spiderman1 spiderman2 spiderman3 spidey spike1 spike123 spikey spirit spirit1 spitfire
        spitfire1 splash splinter sponge sponge1 spongebob spongebob1 spongebob2 spooky spooky1 sporting sports sports1
        spring spring1 springer sprint sprite sprite1 spunky spunky1 spurs1 sputnik spyder squall squirrel squirt
        srilanka srinivas sriram ssssss sssssss ssssssss ssyu1314 stacey stacey1 stalin stalker stalker1 stallion
        standard stanislav stanley stanley1 star11 star12 star123 star1234 star13 star69 starbucks starbucks1 starcraft
        starcraft1 stardust starfish starfish1 stargate stargate1 starlight starlight1 stars1 starstar start1 start123
        startfinding startrek startrek1 starwars starwars1 starwars3 status stealth steaua steelers steelers1 steelers7
        stefan stefania stefanie stefano steffi stella stella1 stellina stepan steph1 stephan stephane stephanie
        stephanie1 stephen stephen1 sterling sterling1 sterva steve1 steve123 steven steven1 steven12 steven123 stevie
        stevie1 stewart stewart1 stinger stingray stinker stinky stinky1 stitch stonecold stonecold1 stoner stoner1
        stoner420 stones storm1 stormy stormy1 stranger stratfor stratus strawberry street street1 strength strider
        strike striker strong strong1 stryker stuart student student1 studio stunt101 stupid stupid1 su123456 subaru
        sublime sublime1 subway subzero success success1 sucesso sucker sucker1 suckit suckit1 suckme suckmydick sugar1
        sugar123 suicide sullivan sultan summer summer01 summer05 summer06 summer07 summer08 summer09 summer1 summer10
        summer11 summer12 summer123 summer2 summer2010 summer69 summer99 summertime summit sundance sunday sunday1
        sunderland sunflower sunflower1 sunita sunny1 sunny123 sunrise sunset sunset1 sunshine sunshine! sunshine1
        sunshine11 sunshine12 sunshine2 sunshine3 sunshine7 super1 super123 superfly supergirl supergirl1 superman
        superman1 superman11 superman12 superman13 superman2 superman23 superman3 superman7 supermario supernatural
        supernova supersonic superstar superstar1 support sureno13 surenos13 suresh surfer surfer1 surfing surfing1
        surside13 survivor susan1 susana susanna susanne suzanne suzanne1 suzuki suzuki1 svetik svetlana svoboda sweden
        sweet1 sweet12 sweet123 sweet16 sweet2 sweetgirl sweetheart sweetie sweetie1 sweetlove sweetness sweetness1
        sweetpea sweetpea1 sweets sweets1 sweety sweety1 sweety12 swimmer swimmer1 swimming swimming1 swordfish
        swordfish1 sydney sydney1 sylvester sylvia sylvie syncmaster syracuse system system1 sz9kqcctwy t12345 t123456
        tabitha tabitha1 tacobell tacobell1 taekwondo taishan2011 tajmahal tamara tamara1 tammy1 tangerine tangkai
        tango1 tanner tanner1 tanya1 target target123 tarheels tarheels1 tartaruga tarzan tasha1 tatiana tatiana1 tattoo
        tattoo1 tatyana taurus taylor taylor01 taylor1 taylor11 taylor12 taylor123 taylor13 taylor2 taytay taytay1
        tazmania tdutybq tdutybz teacher teacher1 teamo1 teamo123 teamomucho techn9ne technics techno techno1 technology
        tecktonik teddy1 teddy123 teddybear teddybear1 teiubesc tekiero tekken telechargement telefon telefono telephone
        telephone1 television temitope temp123 temp1234 temple temppass temppassword tenerife tennessee tennessee1
        tennis tennis1 tequiero tequila tequila1 teresa teresa1 terminal terminator terrell terrell1 terror terry1
        tesoro test123 test1234 tester tester1 testing testing1 testing123 testpass testtest texas1 texas123 thailand
        thankgod thanks thankyou theatre thebest thebest1 theboss theboss1 thedoors theend thegame thegame1 thegreat1
        thegreat123 theking theking1 thelma theman theman1 theodore theone theone1 theonly1 theresa theresa1 therese
        therock therock1 thesims2 theused theused1 thierry thirteen thirteen13 thomas thomas01 thomas1 thomas11 thomas12
        thomas123 thomas2 thomas22 thompson three3 thug4life thuglife thuglife1 thumper thumper1 thunder thunder1
        thursday thx1138 ticket tiesto tiffany tiffany1 tiger1 tiger12 tiger123 tiger2 tigers tigers1 tigger tigger01
        tigger1 tigger11 tigger12 tigger123 tigger2 tigrou timber timmy1 timothy timothy1 tina123 tinker tinker1
        tinkerbel1 tinkerbell tinkle tintin titanic titanic1 titans titans1 titties tkbpfdtnf tkfkdgo tnk0mk16vx tobias
        today1 toffee together tokiohotel toledo tolkien tom123 tomate tomato tomcat tommaso tommy1 tommy123 tommyboy
        tomorrow tomtom tomtom1 tonton tony12 tony123 tootie tootsie tootsie1 topcat topdog topgun topher topolino
        topper topsecret torino tornado toronto toronto1 torres torres9 tortuga toshiba toshiba1 tototo tottenham
        tottenham1 toulouse toyota toyota1 trabajo tracey tractor tracy1 training trains traktor tralala trance transam
        transformers travel travel1 travis travis1 treasure trebor trenton trenton1 tresd5 trevor trevor1 trfnthbyf
        tricia tricolor trigger trigger1 trigun trinidad trinidad1 trinity trinity1 trinity3 tripleh tripper trisha
        triskelion tristan tristan1 triton triumph trixie trixie1 trojan trojans trojans1 trololo trombone trooper
        trooper1 tropical trouble trouble1 trucker trucker1 trucks truelove truelove1 trumpet trumpet1 trunks trustno1
        trustnoone tsunami ttd955audg tttttt tucker tucker1 tudelft tuesday tulips tuning tupac1 turbo1 turkey turkey1
        turner turtle turtle1 turtles tweety tweety1 tweety12 tweety2 tweetybird twiggy twilight twilight1 twilight12
        twinkle twinkle1 twins2 twisted twisted1 twister twister1 ty2t1hv3oc tyler1 tyler12 tyler123 tyler2 tyrone
        tyrone1 tyson1 u1v7hhh7ef u38fa39 u77789 ufkbyf uganda uhfybn8888 ukraine ultima ultimate ulysse umbrella undead
        underground underoath1 undertaker underworld unicorn unicorn1 unique unique1 united united1 univers2l universal
        universe university unknown unknown1 unreal uqa9ebw445 urmom1 ursula usa123 usdopaa user888 usher1 utopia
        uvgx8f8232 v123456 vacation vacation1 vaffanculo vagina vagina1 valencia valentin valentina valentina1 valentine
        valentine1 valentino valera valeria valeria1 valerie valerie1 valerio valley vampire vampire1 vampires vancouver
        vanesa vanessa vanessa1 vanhalen vanilla vanilla1 vanille varvara vasilisa vbkfirf vectra vegas1 vegeta vegeta1
        velvet vendetta venera venezuela venice venkat verbatim veritas verizon1 vermont vernon verona veronica
        veronica1 veronika veronique versace vertigo vfczyz vfhbyf vfhecz vfhufhbnf vfibyf vfitymrf vfksirf vfrcbv
        vfrcbvrf vfvekz vfvfgfgf vfvjxrf vicente vicky1 victoire victor victor1 victor123 victoria victoria1 victory
        victory1 vietnam viewsonic vijaya viking viking1 vikings vikings1 viktor viktoria viktoriya village vincent
        vincent1 vincenzo vinnie violet violet1 violeta violetta violin viper1 viphv5j736 virgin virginia virginia1
        virginie vishal vishnu vision vitalik vitoria vittoria vivian viviana vjcrdf vkontakte vladik vladimir vladislav
        vodafone voiture volcom volcom1 volkswagen volley volleyball volume voodoo voodoo1 voyager voyager1 vqsablpzla
        vrbgqns997 vvvvvv w12345 w123456 w1975a w1976a w1977a w1978a w1979a w1980a w1981a w1982a w1983a w1984a w1985a
        w1986a w1987a w1988a w1989a w1990a w5tn36alfw w5txn36alfw w66yrybgra wachtwoord waffles wagner waheguru walker
        walker1 wall.e wallace wallace1 walmart walmart1 walnut walter walter1 wangyut2 wanker wanker1 wanted warcraft
        warcraft1 warcraft3 warhammer warlock warlord warning warren warren1 warrior warrior1 warriors warriors1
        warszawa washington wasser wassup water1 water123 waterfall waterloo watermelon waterpolo waters watson wayne1
        wazzup weare138 weasel weather webhompass webster webster1 wedding wedding1 wednesday weed123 weed420 weezer
        weezy1 welcome welcome1 welcome12 welcome123 welcome2 welkom wellington wendy1 wenoob werder werewolf werner
        werty123 wertyu werwer wesley wesley1 westcoast western western1 westham westham1 westlife westside westside1
        westwood whatever whatever! whatever1 whatever2 whatsup whatsup1 whatthefuck whatthezor whiskers whiskers1
        whiskey whiskey1 whisky whisper white1 whiteboy1 whitney whitney1 whoami whocares whore1 whynot wicked wicked1
        widget wifey1 wilbur wildcat wildcat1 wildcats wildcats1 wildfire william william1 william123 william2 william3
        williams williams1 willie willie1 willis willow willow1 willy1 wilson wilson1 winchester window window1 windows
        windows1 windows7 windsor winmx1 winner winner1 winnie winnie1 winston winston1 winter winter1 wisdom wisdom1
        wishbone wizard wizard1 woaini woaini1314 wolfgang wolfie wolfman wolfpack wolfpack1 wolverine wolverine1 wolves
        wolves1 wombat wonder wonder1 wonderful wonderful1 wonderland woodstock woody1 woohoo wookie wordpass wordpass1
        working woshiyazi wow123 wow12345 wrangler wrestling wrestling1 wright writer wutang wwe123 www123 wwwwww wxcvbn
        wz362308 x123456 x3luym2mmj x4ivyga51f xanadu xander xavier xavier1 xbox360 xboxlive xfiles xiang123456 xtreme
        xxx123 xxxxxx xxxxxx1 xxxxxxx xxxxxxxx xxxxxxxxxx xyz123 y123456 y6p67ftrqj yagjecc826 yahoo.com yahoo1 yahoo123
        yahoomail yahooo yamaha yamaha1 yamahar1 yamahar6 yandex yankee yankee1 yankees yankees1 yankees13 yankees2
        yannick yanyan yasmin yasmine ybccfy ybrbnf ybrjkfq yellow yellow1 yellow11 yellow12 yellow123 yellow2 yellow5
        yeshua yesterday yesyes yfcntymrf yfdbufnjh10305070 yfdbufnjh63 yfnfif yfnfkb yfnfkmz yjdsqgfhjkm yolanda
        yolanda1 yomama yomama1 yomomma1 you123 youandme youbye123 young1 youngmoney yourmom yourmom1 yourmom2 youssef
        yousuck yousuck1 youtube youtube1 youyou yoyo123 yoyoyo yoyoyo1 ytrewq yuantuo2012 yugioh yugioh1 yuliya yummy1
        yumyum yvette yvonne yvonne1 yxcvbnm yyyyyy z00000 z0102030405 z12345 z123456 z123456789 z1x2c3 z1x2c3v4
        zacefron zacefron1 zachary zachary1 zag12wsx zainab zalupa zander zanzibar zaq123 zaq12wsx zaq1xsw2 zaqwsx
        zaqwsxcde zaqxsw zaqxswcde zaraza zarina zasada zazaza zebra1 zelda1 zenith zeppelin zeppelin1 zerocool zhjckfd
        zidane ziggy1 zigzag zimmer483 zipper zodiac zoey101 zombie zombie1 zouzou zvezda zxasqw zxasqw12 zxc123
        zxc123456 zxcasd zxcasdqwe zxcasdqwe123 zxccxz zxcv123 zxcv1234 zxcvb1 zxcvb123 zxcvb12345 zxcvbn zxcvbn1
        zxcvbnm zxcvbnm1 zxcvbnm12 zxcvbnm123 zxcvbnm: zxcvzxcv zxczxc zxzxzx zyjxrf zzz123 zzzxxx zzzzzz zzzzzz1
        zzzzzzz zzzzzzzz zzzzzzzzzz йцукен любовь пароль
        """#
}
