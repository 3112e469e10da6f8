-- Mails are counted by the rate limits of the frame now.
drop table auth_mail_counts;
